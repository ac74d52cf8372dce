// The column property_texts in ClickHouse's Native format: the JSON of each property by its name, taken from the bytes of the
// properties. ClickHouse makes the same by itself where it is not sent, for a third of an insert's time.
import { ColumnStream, LOW_CARDINALITY, lowCardinalityPieces, type NumberedTexts } from './native_format.ts';
import { hintOf, type VisitorFacts } from './visitor_columns.ts';

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];

const SLOTS = 4096;
/** A name whose slot and the next ones are taken by others is looked up as a text, so that nobody can make that slow. */
const PROBES = 8;
/** With more, the next chunk begins with none. */
const NAMES_MAX = 8192;

/** Names of properties by their numbers. */
export class PropertyNames {
  readonly texts: Buffer[] = [];
  /** By number, what those say of a visitor that do. */
  readonly hints: ReturnType<typeof hintOf>[] = [];
  private readonly slots = new Int32Array(SLOTS).fill(-1);
  private readonly others = new Map<string, number>();
  private readonly followers: number[] = [];

  /**
   * The number of the name that begins here, if it is the one that came last behind a number: most events have the same names in
   * the same order. Else -1.
   */
  guess(behind: number, bytes: Buffer, start: number): number {
    const number = this.followers[behind + 1];
    if (number === undefined) return -1;
    const name = this.texts[number] as Buffer;
    const end = start + name.length;
    return bytes[end] === QUOTE && isSame(name, bytes, start, end) ? number : -1;
  }

  /** The number of a name that came behind one with a number; behind none: -1. */
  numberOf(behind: number, bytes: Buffer, start: number, end: number, hash: number): number {
    const number = this.find(bytes, start, end, hash);
    this.followers[behind + 1] = number;
    return number;
  }

  private find(bytes: Buffer, start: number, end: number, hash: number): number {
    for (let probe = 0; probe < PROBES; probe++) {
      const slot = ((hash ^ (hash >>> 15)) + probe) & (SLOTS - 1);
      const number = this.slots[slot] as number;
      if (number < 0) {
        this.slots[slot] = this.texts.length;
        return this.add(bytes.subarray(start, end));
      }
      if (isSame(this.texts[number] as Buffer, bytes, start, end)) return number;
    }
    return this.numberOfText(bytes.subarray(start, end));
  }

  /** Of a name that is found by its text alone. */
  numberOfText(name: Buffer): number {
    const text = name.toString('latin1');
    const known = this.others.get(text) ?? this.add(name);
    this.others.set(text, known);
    return known;
  }

  private add(name: Buffer): number {
    this.hints.push(hintOf(name));
    return this.texts.push(Buffer.from(name)) - 1;
  }
}

function isSame(name: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let at = 0; at < name.length; at++) if (name[at] !== bytes[start + at]) return false;
  return true;
}

/**
 * The streams of the column, and what fills them: how many properties a row has; the number of each one's name; and its JSON.
 * Those that say something of the visitor are told to `facts`.
 */
export function createPropertyTexts(facts: Pick<VisitorFacts, 'take'>) {
  const [counts, numbers, values] = [new ColumnStream(), new ColumnStream(), new ColumnStream()];
  let names = new PropertyNames();

  function write(number: number, bytes: Buffer, start: number, end: number): void {
    numbers.int32(number);
    values.slice(bytes, start, end);
    const hint = names.hints[number];
    if (hint !== null && hint !== undefined) facts.take(hint, bytes, start, end);
  }

  /** Of JSON without white space, as JSON.stringify makes it; null where it is other JSON, or none. */
  function copy(json: Buffer, start: number, end: number): number | null {
    let count = 0;
    let number = -1;
    let at = start + 1;
    if (json[start] !== OPEN_OBJECT) return null;
    if (json[at] === CLOSE_OBJECT) return at === end - 1 ? 0 : null;
    for (;;) {
      if (json[at] !== QUOTE) return null;
      const from = ++at;
      const guessed = names.guess(number, json, from);
      let hash = 0;
      if (guessed >= 0) at += (names.texts[guessed] as Buffer).length;
      else {
        for (let byte = json[at]; byte !== QUOTE; byte = json[++at]) {
          if (at >= end || byte === BACKSLASH) return null;
          // FNV-1a.
          hash = Math.imul(hash ^ (byte as number), 0x01000193);
        }
      }
      if (json[at + 1] !== COLON) return null;
      const stop = endOfValue(json, at + 2, end);
      if (stop < 0) return null;
      number = guessed >= 0 ? guessed : names.numberOf(number, json, from, at, hash);
      write(number, json, at + 2, stop);
      count++;
      if (json[stop] === CLOSE_OBJECT) return stop === end - 1 ? count : null;
      at = stop + 1;
    }
  }

  /** Of any JSON: what is no object has no properties. */
  function copyParsed(json: string): number {
    const properties = Object.entries(parsed(json));
    for (const [name, value] of properties) {
      const text = Buffer.from(JSON.stringify(value));
      write(names.numberOfText(Buffer.from(name)), text, 0, text.length);
    }
    return properties.length;
  }

  return {
    type: 'Map(LowCardinality(String), String)',
    streams: [counts, numbers, values],
    /** The names that the rows of the next chunk are written with. */
    names(): PropertyNames {
      if (names.texts.length > NAMES_MAX) names = new PropertyNames();
      return names;
    },
    /** Adds a row: the JSON of its properties. */
    write(json: Buffer, start: number, end: number): void {
      const [numbered, valued] = [numbers.length, values.length];
      let count = copy(json, start, end);
      if (count === null) {
        numbers.cutTo(numbered);
        values.cutTo(valued);
        count = copyParsed(json.toString('utf8', start, end));
      }
      counts.int32(count);
    },
  };
}

function parsed(json: string): object {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    // As ClickHouse does with what is no JSON.
    return {};
  }
}

/** Where a value ends: at a comma or a closing brace. -1 where it does not. */
function endOfValue(json: Buffer, start: number, end: number): number {
  let depth = 0;
  for (let at = start; at < end; at++) {
    const byte = json[at];
    if (byte === QUOTE) {
      for (at++; at < end && json[at] !== QUOTE; at++) if (json[at] === BACKSLASH) at++;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
    else if (depth === 0 && (byte === COMMA || byte === CLOSE_OBJECT)) return at > start ? at : -1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--;
  }
  return -1;
}

const NUMBER_BYTES = Int32Array.BYTES_PER_ELEMENT;

/** What a chunk has of the column. */
interface ChunkTexts {
  names: PropertyNames;
  streams: readonly Buffer[];
}

/** The column of a block, from its chunks: where each row's properties end; their names; their JSON. */
export function propertyTextsPieces(chunks: readonly ChunkTexts[]): Buffer[] {
  const ends = new BigUint64Array(
    chunks.reduce((rows, { streams }) => rows + (streams[0] as Buffer).length / NUMBER_BYTES, 0),
  );
  let [row, end] = [0, 0];
  for (const { streams } of chunks) {
    const counts = streams[0] as Buffer;
    for (let at = 0; at < counts.length; at += NUMBER_BYTES) {
      end += counts.readInt32LE(at);
      ends[row++] = BigInt(end);
    }
  }
  const parts = chunks.map(
    ({ names, streams }): NumberedTexts => ({
      texts: names.texts,
      bytes: streams[1] as Buffer,
      first: 0,
      step: NUMBER_BYTES,
    }),
  );
  return [
    LOW_CARDINALITY,
    Buffer.from(ends.buffer),
    ...lowCardinalityPieces(parts),
    ...chunks.map(({ streams }) => streams[2] as Buffer),
  ];
}
