// Draws reports from a table of dxopt (docs/reference/table-file.md), exactly: nothing is rounded.
// In a browser or Node: const table = new dxopt.Table(bytes); table.draw("label"), or table.draw(table.nearest([45.7, 4.8]).label)
const dxopt = (() => {
  "use strict";
  const GLOBES = ["haversine", "conservative_haversine", "geodesic"];
  const EARTH = { km: 6371.0088, m: 6371008.8, mi: 6371.0088 / 1.609344 };
  const SHORTER = { conservative_haversine: 1.005615 };
  const DRAW = "dxopt draw 1";

  function fail(message) {
    throw new Error(`dxopt: ${message}`);
  }

  // SHA-256 (FIPS 180-4)
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

  const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));

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
        const text = encoder.encode(field);
        return [[24, 16, 8, 0].map((bits) => text.length >>> bits), text];
      }),
    );
  }

  // characters that are drawn as nothing
  const UNSEEN = /[\p{DI}\ufff9-\ufffb]/gu;

  const ROUNDED = /^-?([0-9]([.][0-9]+[eE][+]?|[eE][+])[0-9]+|(9(?!00[0-6])[0-9]{15}|[1-9]\d{16,})[.]0)$/;
  const MOMENT = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d*[1-9])?0*)?(Z|[+-]\d\d(?::?\d\d)?)?$/;

  // a text in NFC with single blanks, without marks that nobody sees
  function composed(text, field) {
    if (typeof text !== "string" || /\p{Surrogate}/u.test(text)) fail(`${field}: is to be text`);
    const seen = text.replace(UNSEEN, "").replace(/\p{Cc}/gu, " ").normalize("NFC");
    return seen.replace(/\s+/gu, " ").trim() || fail(`${field}: there is none`);
  }

  // the text that stands for a person in every file and language: docs/reference/table-file.md
  function identity(person) {
    const text = composed(person, "person");
    if (ROUNDED.test(text)) fail("person: is a float without all digits");
    const moment = MOMENT.exec(text);
    if (moment) {
      const [, day, at, part = "", zone = ""] = moment;
      if (at === "00:00:00" && !part && !zone) return day;
      const off = zone && zone.replace("Z", "+").replace(":", "").padEnd(5, "0").replace("-0000", "+0000");
      return `${day} ${at}${part && "."}${part}${off.slice(0, 3)}${off && ":"}${off.slice(3)}`;
    }
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

  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

  // distances between points; null under a metric that has no nearest point here
  function measure(metric, unit) {
    if (!GLOBES.includes(metric)) return NORMS[metric] ? (a, b) => NORMS[metric](a.map((x, i) => x - b[i])) : null;
    return (a, b) => {
      const [one, other] = [sphere(a), sphere(b)];
      return 2 * EARTH[unit] * Math.asin(Math.min(1, Math.hypot(...one.map((x, i) => x - other[i])) / 2));
    };
  }

  // all combinations of indices below these sizes, the last one fastest
  const tuples = (sizes) =>
    sizes.reduce((some, size) => some.flatMap((at) => Array.from({ length: size }, (_, i) => [...at, i])), [[]]);

  const HEAD =
    "format version name bits epsilon delta cost variation pairs metric unit secrets reports secrets_are_reports " +
    "secret_points report_points space sections";
  const SPACE = {
    lattice: ["kind", "shape", "spacing", "metric"],
    torus: ["kind", "shape", "spacing", "metric"],
    product: ["kind", "factors"],
    tree: ["kind", "edges", "lengths", "labels"],
    points: ["kind", "points", "metric", "labels", "parameters"],
    distances: ["kind", "distances", "labels"],
  };
  const POSITIONS = ["degrees", "outlines", "streets", "unit"].map((name) => `positions.${name}`);
  const WHOLE = /^(version|bits|sections|(\d+\.)*(shape|factors|edges))$/;

  // JSON as Python writes it, which tells whole numbers from others
  function spelled(value, whole = false) {
    if (Array.isArray(value)) return `[${value.map((entry) => spelled(entry, whole)).join(", ")}]`;
    if (value && typeof value === "object") {
      const entries = Object.entries(value).map(([key, entry]) => `${JSON.stringify(key)}: ${spelled(entry, whole || WHOLE.test(key))}`);
      return `{${entries.join(", ")}}`;
    }
    if (typeof value !== "number") return JSON.stringify(value);
    if (whole) return Number.isSafeInteger(value) ? `${value}` : fail(`${value} is no whole number`);
    if (Object.is(value, -0)) return "-0.0";
    const [digits, exponent] = value.toExponential().split("e").map((part, i) => (i ? Number(part) : part));
    if (value && (exponent < -4 || exponent > 15)) return `${digits}e${exponent < 0 ? "-" : "+"}${`${Math.abs(exponent)}`.padStart(2, "0")}`;
    return Number.isInteger(value) ? `${value}.0` : `${value}`;
  }

  const isText = (value) => typeof value === "string" && value !== "";
  const isUnit = (value) => isText(value) && /^(?![ \p{Nd}])(?:[^\p{C}\p{Z}]| ){1,24}(?<! )$/u.test(value);
  const differ = (entries) => new Set(entries.map((entry) => JSON.stringify(entry))).size === entries.length;

  // fails unless positions are degrees, the points are they or a map of them, and cells lie around them
  function located(space, points, count) {
    const [degrees, outlines, streets, unit] = POSITIONS.map((key) => space[key]);
    if (!POSITIONS.some((key) => key in space)) return;
    const place = (most) => (at) => at.length === 2 && at.every(Number.isFinite) && Math.abs(at[0]) <= 90 && Math.abs(at[1]) <= most;
    if (!isText(unit) || !EARTH[unit] || degrees.length !== count || !degrees.every(place(360))) fail("positions are no degrees");
    const nearest = (longitude, start) => longitude - 360 * Math.floor((longitude - start + 180) / 360);
    const off = (some, others) => Math.max(...some.flatMap((at, i) => others[i].map((x, k) => Math.abs(x - at[k]))));
    if (points) {
      const [north, east] = [degrees.map((at) => at[0]), degrees.map((at) => nearest(at[1], degrees[0][1]))];
      const [latitude, longitude] = [north, east].map((some) => (Math.min(...some) + Math.max(...some)) / 2);
      const [up, across] = [1, Math.cos((latitude * Math.PI) / 180)].map((shrunk) => (shrunk * EARTH[unit] * Math.PI) / 180);
      const plane = degrees.map((_, i) => [across * (east[i] - longitude), up * (north[i] - latitude)]);
      const mapped = off(points, plane) <= 1e-9 * Math.max(...plane.flat().map(Math.abs));
      const globe = points.every(place(360)) && off(points.map(sphere), degrees.map(sphere)) <= 1e-9;
      if (!points.every((at) => at.length === 2) || !(mapped || globe)) fail("the points are not the positions, nor a map of them");
    }
    const lines = (some, fit) => some.length && some.every((line) => line.length && fit(line.length) && line.every(place(540)));
    if (streets !== undefined && !lines(streets, (ends) => ends === 2)) fail("streets are none");
    if (outlines === undefined) return;
    const around = ([north, east], cell) =>
      [cell.map((at) => at[0] - north), cell.map((at) => nearest(at[1], east) - east)].every((away) => Math.min(...away) <= 0 && Math.max(...away) >= 0);
    const cells = outlines.length === count && lines(outlines, (corners) => corners === outlines[0].length);
    if (!cells || !degrees.every((at, i) => around(at, outlines[i]))) fail("cells do not lie around the positions");
  }

  // what follows from a space: the metric, its unit, labels and points
  function derived(space, factor = true) {
    const needed = SPACE[space.kind];
    const places = space.kind === "distances" ? (factor ? ["points", "unit"] : ["unit", "points"]) : ["unit"];
    const order = [...needed, ...Array.from({ length: space.factors || 0 }, (_, i) => `${i}`), ...places, ...POSITIONS];
    const there = Object.keys(space).map((key) => key.replace(/^(\d+)[.].*/, "$1")).filter((key, i, all) => key !== all[i - 1]);
    if (!same(there, order.filter((key) => needed.includes(key) || there.includes(key)))) fail(`a space of ${space.kind} has ${needed}`);
    if (("unit" in space && !isUnit(space.unit)) || ("metric" in space && !isText(space.metric))) fail("the unit or metric is no text");
    if (space.labels && !(space.labels.every((label) => typeof label === "string") && differ(space.labels))) fail("labels are no different texts");
    const found = { metric: null, unit: null, labels: space.labels, points: null, units: [] };
    if (space.kind === "points") {
      found.metric = space.metric;
      if (space.points.length !== space.labels.length) fail("points are not one for each label");
      if (typeof space.points[0][0] === "number") found.points = space.points;
      const parameters = JSON.parse(space.parameters);
      if (GLOBES.includes(space.metric)) found.unit = parameters.unit in EARTH && !space.unit ? parameters.unit : fail("unit");
      const known = found.unit ? ["unit"] : space.metric === "normalised_manhattan" ? ["diameter"] : [];
      if (!same(Object.keys(parameters), known) || ![spelled(parameters), JSON.stringify(parameters).replace(":", ": ")].includes(space.parameters)) fail(`the metric has the parameters ${known}`);
    } else if (space.shape) {
      if (![space.spacing, ...space.shape].every(Number.isFinite) || !NORMS[space.metric]) fail("the lattice is none");
      const steps = tuples(space.shape);
      found.metric = space.kind === "torus" ? "wrapped" : space.metric;
      found.points = steps.map((at) => at.map((i) => i * space.spacing));
      found.labels = steps.map((at) => (at.length > 1 ? `(${at.join(", ")})` : `${at[0]}`));
    } else if (space.kind === "product") {
      const parts = Array.from({ length: space.factors }, (_, i) => {
        const own = Object.entries(space).filter(([key]) => key.startsWith(`${i}.`));
        return derived(Object.fromEntries(own.map(([key, value]) => [key.slice(`${i}.`.length), value])));
      });
      const steps = tuples(parts.map((part) => part.labels.length));
      found.labels = steps.map((at) => `(${at.map((i, k) => parts[k].labels[i]).join(", ")})`);
      if (parts.every((part) => part.points)) found.points = steps.map((at) => at.flatMap((i, k) => parts[k].points[i]));
      found.units = parts.map((part) => part.own);
    }
    found.own = found.unit || space.unit || "";
    if (space.points || found.own in EARTH) found.units.push(space["positions.unit"]);
    if (found.own && found.units.some((unit) => unit && unit !== found.own)) fail(`the unit is ${found.units}, not ${found.own}`);
    located(space, found.points || space.points, found.labels.length);
    return found;
  }

  // fails unless the head of a whole table says what follows from its space, and distances are those of its points
  function check(head, distances) {
    if (Object.keys(head).join(" ") !== HEAD) fail("the head has other entries");
    if (typeof head.secrets_are_reports !== "boolean") fail("whether the secrets are the reports is not said");
    if (![head.cost, head.variation].every((x) => x === null || Number.isFinite(x))) fail("cost or variation is no number");
    if (head.variation < 0 || head.variation > 1) fail("variation is not from 0 to 1");
    if ([head.epsilon, head.delta, head.cost, head.variation].some((x) => Object.is(x, -0))) fail("a zero is negative");
    if (head.secrets.some((_, i) => head.secrets.some((_, j) => Object.is(distances(head.secrets.length * i + j), -0)))) fail("a zero is negative");
    const given = head.space.kind === "distances";
    const { points } = head.space;
    const entries = Object.entries(head.space).flatMap((entry) => (entry[0] === "kind" ? [entry, ["distances", distances]] : [entry]));
    if (given && points !== undefined && (head.secret_points || !Array.isArray(points[0]) || typeof points[0][0] !== "string")) fail("the points are there twice");
    const own = derived(given ? Object.fromEntries(entries) : head.space, false);
    if (given) located(head.space, (own.points = head.secret_points), own.labels.length);
    for (const [name, known] of [["metric", own.metric], ["unit", own.unit], ["secrets", own.labels], ["secret_points", own.points]]) {
      if (!same(head[name], known)) fail(`${name}: not that of the space`);
    }
    if (head.secrets_are_reports && !same([head.secrets, head.secret_points], [head.reports, head.report_points])) {
      fail("the reports are not the secrets");
    }
    const between = measure(own.metric, own.unit);
    const rough = own.metric === "geodesic" ? 6e-3 : 1e-7;
    (between ? own.points : []).forEach((a, i) =>
      own.points.forEach((b, j) => {
        const far = between(a, b) / (SHORTER[own.metric] || 1);
        if (!(Math.abs(far - distances(own.points.length * i + j)) <= rough * far + 1e-9)) fail("distances are not those of the points");
      }),
    );
  }

  class Table {
    // bytes: the contents of a file *.dxt, as Uint8Array or ArrayBuffer
    constructor(bytes) {
      try {
        this._read(bytes);
      } catch (error) {
        throw error.constructor === Error ? error : Error("dxopt: the table is damaged");
      }
    }

    _read(bytes) {
      const all = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
      if (String.fromCharCode(...all.slice(0, 8)) !== "dxtable1") fail("this is no table file");
      const end = all.length - 32;
      const own = hex(all.slice(end));
      if (hex(sha256(all.subarray(0, end))) !== own) fail("the table was changed or cut off");
      const view = new DataView(all.buffer, all.byteOffset, all.byteLength);
      const body = 16 + Number(view.getBigUint64(8, true));
      const text = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true }).decode(all.subarray(16, body));
      const head = JSON.parse(text);
      const blanks = text.length - spelled(head).length;
      if (body % 8 || blanks > 7 || text !== spelled(head) + " ".repeat(blanks)) fail("the head is not as it is written");
      if (head.format !== "dxopt table" || head.version !== 1) fail(`version ${head.version} of tables is not known`);
      const { bits, sections, secrets } = head;
      const levels = [head.epsilon, head.delta].every((x) => Number.isFinite(x) && x >= 0) && head.delta <= 1;
      const names = [head.name, ...secrets, ...head.reports].every((x) => typeof x === "string");
      const known = [64, 128, 192, 256].includes(bits) && ["all", "adjacent"].includes(head.pairs);
      if (!levels || !names || !known) fail("levels, names, bits or pairs are none");
      const [n, count] = [secrets.length, sections.reports[1] / 4];
      const sizes = { starts: 8 * n + 8, reports: 4 * count, steps: (bits / 8) * (count - n) };
      if (!head.source) sizes.distances = 8 * n * n;
      if (sections.prior) sizes.prior = 8 * n;
      let last = 0;
      for (const name in sizes) {
        sizes[name] = [last, sizes[name]];
        const after = last + sizes[name][1];
        last += Math.ceil(sizes[name][1] / 8) * 8;
        if (all.subarray(body + after, body + last).some((byte) => byte)) fail("sections are not filled up with zeros");
      }
      if (!same(sections, sizes) || body + last !== end) fail("sections do not follow each other");
      const [starts, reports, steps, distances] = Object.values(sizes).map((size) => body + size[0]);
      if (!head.source) check(head, (place) => view.getFloat64(distances + 8 * place, true));
      this.head = head;
      [this.epsilon, this.delta, this.unit] = [head.epsilon, head.delta, head.unit || head.space?.unit || null];
      this.digest = head.source || own;
      this.width = bits / 8;
      this._bytes = all;
      this._start = (x) => Number(view.getBigUint64(starts + 8 * x, true));
      this._report = (entry) => view.getUint32(reports + 4 * entry, true);
      this._step = (place) => steps + this.width * place;
      this._index = new Map(secrets.map((label, x) => [label, x]));
      const rows = head.report_points === null ? head.reports.map(() => []) : head.report_points;
      const places = rows.length === head.reports.length && rows.every((row) => Array.isArray(row) && row.length === rows[0].length);
      const others = Array.from({ length: count }, (_, entry) => this._report(entry)).some((z) => z >= rows.length);
      if (others || !places || rows.flat().some((x) => x !== null && typeof x !== "number")) fail("labels and points are not one for each report");
      if (this._start(0) || this._start(n) !== count || secrets.some((_, x) => this._start(x) >= this._start(x + 1))) fail("no starts");
    }

    // true if a random number is not below the step at a place, byte by byte
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
      if (composed(release, "release") !== release) fail(`release: write "${composed(release, "release")}"`);
      const fields = [DRAW, this.digest, release, identity(person), this.head.secrets[this.secret(label)]];
      const digest = hmac(keyOf(key), message(fields));
      return this.at(label, digest.slice(0, this.width));
    }

    // the secret nearest to a point, and how far it is
    nearest(point) {
      const points = this.head.secret_points;
      const globe = GLOBES.includes(this.head.metric);
      const between = measure(this.head.metric, this.head.unit);
      if (!points || !between) fail("no secret is the nearest under this metric; give a label");
      if (!Array.isArray(point) || point.length !== points[0].length || !point.every(Number.isFinite)) {
        fail(`give a point of ${points[0].length} numbers`);
      }
      if (globe && (Math.abs(point[0]) > 90 || Math.abs(point[1]) > 360)) fail("give latitude and longitude, in degrees");
      const apart = points.map((other) => between(point, other));
      const best = apart.reduce((least, distance, x) => (distance < apart[least] ? x : least), 0);
      return { index: best, label: this.head.secrets[best], distance: apart[best] };
    }
  }

  const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return { Table, fromBase64, identity, sha256, hmac };
})();
