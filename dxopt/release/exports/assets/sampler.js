// Draws reports from a table of dxopt (docs/reference/table-file.md), exactly: bytes are compared, nothing is rounded.
// In a browser or Node: const table = new dxopt.Table(bytes); table.draw("label"), or table.draw(table.nearest([45.7, 4.8]).label)
const dxopt = (() => {
  "use strict";
  const MAGIC = "dxtable1";
  const GLOBES = ["haversine", "conservative_haversine", "geodesic"]; // the nearest secret is so by great circles
  const EARTH = { km: 6371.0088, m: 6371008.8, mi: 6371.0088 / 1.609344 };
  const DRAW = "dxopt draw 1";

  function fail(message) {
    throw new Error(`dxopt: ${message}`);
  }

  // SHA-256 (FIPS 180-4), without waiting for anything
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  const fraction = (value) => ((value - Math.floor(value)) * 2 ** 32) | 0;
  const ROUNDS = primes.map((p) => fraction(Math.cbrt(p)));
  const START = primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)));

  function sha256(bytes) {
    const blocks = Math.ceil((bytes.length + 9) / 64);
    const padded = new Uint8Array(64 * blocks);
    padded.set(bytes);
    padded[bytes.length] = 0x80;
    const view = new DataView(padded.buffer);
    view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
    view.setUint32(padded.length - 4, bytes.length << 3);
    const state = Int32Array.from(START);
    const w = new Int32Array(64);
    const turn = (x, n) => (x >>> n) | (x << (32 - n));
    for (let block = 0; block < padded.length; block += 64) {
      for (let i = 0; i < 16; i++) w[i] = view.getInt32(block + 4 * i);
      for (let i = 16; i < 64; i++) {
        const a = w[i - 15];
        const b = w[i - 2];
        const low = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
        const high = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
        w[i] = (w[i - 16] + low + w[i - 7] + high) | 0;
      }
      let [a, b, c, d, e, f, g, h] = state;
      for (let i = 0; i < 64; i++) {
        const mixed = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
        const one = (h + mixed + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
        const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
      }
      [a, b, c, d, e, f, g, h].forEach((x, i) => (state[i] += x));
    }
    const found = new Uint8Array(32);
    state.forEach((x, i) => new DataView(found.buffer).setInt32(4 * i, x));
    return found;
  }

  function joined(...parts) {
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  function hmac(key, message) {
    const pad = (byte) => Uint8Array.from({ length: 64 }, (_, i) => (key[i] || 0) ^ byte);
    return sha256(joined(pad(0x5c), sha256(joined(pad(0x36), message))));
  }

  const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

  function keyOf(key) {
    if (key instanceof Uint8Array && key.length === 32) return key;
    if (typeof key !== "string" || !/^[0-9a-fA-F]{64}$/.test(key.trim())) fail("key: give 64 hexadecimal digits, or 32 bytes");
    return Uint8Array.from(key.trim().match(/../g), (digits) => parseInt(digits, 16));
  }

  // the texts of a keyed draw: each as four bytes of length, the highest first, and its UTF-8
  function message(fields) {
    const encoder = new TextEncoder();
    return joined(
      ...fields.flatMap((field) => {
        if (typeof field !== "string" || /\p{Surrogate}/u.test(field)) fail("person and release are to be text");
        const text = encoder.encode(field);
        const length = new Uint8Array(4);
        new DataView(length.buffer).setUint32(0, text.length);
        return [length, text];
      }),
    );
  }

  // characters that are drawn as nothing
  const UNSEEN = new RegExp(
    "[\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u3164" +
      "\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\u{e0000}-\\u{e0fff}]",
    "gu",
  );

  // the text that stands for a person in every file and language: docs/reference/identities.md
  function identity(person) {
    if (typeof person !== "string" || /\p{Surrogate}/u.test(person)) fail("person and release are to be text");
    const seen = person.replace(UNSEEN, "").replace(/\p{Cc}/gu, " ").normalize("NFC");
    const text = seen.replace(/\s+/gu, " ").trim();
    if (!text) fail("person: there is none");
    const number = /^(-?(?:0|[1-9][0-9]*))(?:\.([0-9]*[1-9])?0*)?$/.exec(text);
    if (!number) return text;
    const [, whole, rest] = number;
    return rest ? `${whole}.${rest}` : whole === "-0" ? "0" : whole;
  }

  function sphere([latitude, longitude]) {
    const [north, east] = [(latitude * Math.PI) / 180, (longitude * Math.PI) / 180];
    return [Math.cos(north) * Math.cos(east), Math.cos(north) * Math.sin(east), Math.sin(north)];
  }

  const NORMS = {
    euclidean: (apart) => Math.hypot(...apart),
    manhattan: (apart) => apart.reduce((sum, x) => sum + Math.abs(x), 0),
    chebyshev: (apart) => Math.max(...apart.map(Math.abs)),
  };

  class Table {
    // bytes: the contents of a file *.dxt, as Uint8Array or ArrayBuffer; they are checked against their digest
    constructor(bytes) {
      const all = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
      if (String.fromCharCode(...all.slice(0, 8)) !== MAGIC) fail("this is no table file");
      const end = all.length - 32;
      const own = hex(all.slice(end));
      if (hex(sha256(all.subarray(0, end))) !== own) fail("the table was changed or cut off");
      const view = new DataView(all.buffer, all.byteOffset, all.byteLength);
      const body = 16 + view.getUint32(8, true);
      const head = JSON.parse(new TextDecoder().decode(all.subarray(16, body)));
      if (head.format !== "dxopt table" || head.version !== 1) fail(`version ${head.version} of tables is not known`);
      const section = (name) => body + head.sections[name][0];
      const [starts, reports, steps] = ["starts", "reports", "steps"].map(section);
      this.head = head;
      // epsilon is per unit of distance
      [this.epsilon, this.delta, this.unit] = [head.epsilon, head.delta, head.unit || (head.space || {}).unit || null];
      // of the whole table, of which a script has a part
      this.digest = head.source || own;
      this.width = head.bits / 8;
      this._bytes = all;
      // below 2^53 by far: a count of entries
      this._start = (x) => view.getUint32(starts + 8 * x, true) + view.getUint32(starts + 8 * x + 4, true) * 2 ** 32;
      this._report = (entry) => view.getUint32(reports + 4 * entry, true);
      this._step = (place) => steps + this.width * place;
      this._index = new Map(head.secrets.map((label, x) => [label, x]));
    }

    // true if a random number is not below the step whose bytes begin at a place: bytes are compared as text is
    _reaches(number, place) {
      for (let i = 0; i < this.width; i++) {
        const off = number[i] - this._bytes[place + i];
        if (off) return off > 0;
      }
      return true;
    }

    secret(label) {
      const x = this._index.get(String(label));
      return x === undefined ? fail("the label is that of no secret") : x;
    }

    // the report of a secret at a random number of width bytes, the highest first
    at(label, number) {
      const x = this.secret(label);
      if (!(number instanceof Uint8Array) || number.length !== this.width) fail(`give ${this.width} random bytes`);
      const first = this._start(x);
      let low = 0;
      let high = this._start(x + 1) - first - 1;
      // count the steps of the row that are reached; each row has one step fewer than reports
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this._reaches(number, this._step(first - x + middle))) low = middle + 1;
        else high = middle;
      }
      const index = this._report(first + low);
      const points = this.head.report_points;
      return { index, label: this.head.reports[index], point: points ? points[index] : null };
    }

    // a report, from the random bits of the operating system
    draw(label) {
      return this.at(label, globalThis.crypto.getRandomValues(new Uint8Array(this.width)));
    }

    // the report that a person gets at this secret whenever it is asked for: HMAC-SHA256 of the key gives the bits;
    // for secrets that stay: different reports of a person prove different secrets, however close these are
    drawFor(key, person, label, release) {
      const fields = [DRAW, this.digest, release, identity(person), this.head.secrets[this.secret(label)]];
      const digest = hmac(keyOf(key), message(fields));
      return this.at(label, digest.slice(0, this.width));
    }

    // the secret nearest to a point, and how far it is
    nearest(point) {
      const points = this.head.secret_points;
      const globe = GLOBES.includes(this.head.metric);
      if (!points || !(globe || NORMS[this.head.metric])) fail("no secret is the nearest under this metric; give a label");
      if (!Array.isArray(point) || point.length !== points[0].length || !point.every(Number.isFinite)) {
        fail(`give a point of ${points[0].length} numbers`);
      }
      if (globe && (Math.abs(point[0]) > 90 || Math.abs(point[1]) > 360)) fail("give latitude and longitude, in degrees");
      const here = globe ? sphere(point) : point;
      const norm = globe ? NORMS.euclidean : NORMS[this.head.metric];
      const apart = points.map((other) => norm((globe ? sphere(other) : other).map((x, i) => x - here[i])));
      const best = apart.reduce((least, distance, x) => (distance < apart[least] ? x : least), 0);
      const distance = globe ? 2 * EARTH[this.head.unit] * Math.asin(Math.min(1, apart[best] / 2)) : apart[best];
      return { index: best, label: this.head.secrets[best], distance };
    }
  }

  const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return { Table, fromBase64, identity, sha256, hmac };
})();
