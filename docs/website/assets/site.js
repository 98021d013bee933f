/* Whatever scrolls sideways can be scrolled by the keyboard, on devices of every kind, and buttons to copy are no landmarks. */
(() => {
  const wide = ".md-typeset pre > code, .md-typeset__scrollwrap, .md-typeset .output, .formula";
  const mark = (part) => {
    const scrolls = part.scrollWidth > part.clientWidth;
    if (scrolls && !part.hasAttribute("tabindex")) part.tabIndex = 0;
  };
  const sizes = new ResizeObserver((changed) => changed.forEach((one) => mark(one.target)));
  const attributes = new MutationObserver((changed) => changed.forEach((one) => mark(one.target)));
  const buttons = () =>
    document.querySelectorAll(".md-code__nav:not([role])").forEach((part) => part.setAttribute("role", "none"));
  const watch = () => {
    buttons();
    new MutationObserver(buttons).observe(document.body, { childList: true, subtree: true });
    document.querySelectorAll(wide).forEach((part) => {
      mark(part);
      sizes.observe(part);
      attributes.observe(part, { attributeFilter: ["tabindex"] });
    });
  };
  if (document.readyState === "complete") watch();
  else window.addEventListener("load", watch);
})();
