import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Chance } from './random.ts';

/** One request on a connection, and the ids of events that its 200 promises. */
export interface Wanted {
  line: string;
  headers: readonly string[];
  body: Buffer;
  ids: readonly string[];
}

/** What is sent over one connection: some requests one after the other, ended before all is sent. */
export interface Broken {
  what: string;
  bytes: Buffer;
  /** The ids that the n-th answer promises where it is 200. */
  promises: (readonly string[])[];
  /** Whether the n-th answer has no body, whatever its length says. */
  bodiless: boolean[];
  ending: Ending;
  pieces: number;
}

type Ending = 'reset' | 'half_close' | 'close' | 'answers_awaited';
const ENDINGS: readonly Ending[] = ['reset', 'reset', 'reset', 'half_close', 'close'];
const FRAMINGS: readonly Framing[] = [
  'length',
  'length',
  'length',
  'chunked',
  'chunked',
  'bad_chunk',
  'unended_chunk',
  'two_lengths',
  'length_too_short',
  'two_encodings',
  'length_and_encoding',
];
type Framing =
  | 'length'
  | 'chunked'
  | 'bad_chunk'
  | 'unended_chunk'
  | 'two_lengths'
  | 'length_too_short'
  | 'two_encodings'
  | 'length_and_encoding';
const TOGETHER_MAX = 3;

/** Up to three requests on a connection, cut at any byte of them or not at all. */
export function brokenConnection(chance: Chance, request: () => Wanted): Broken {
  const whole = chance.is(0.3);
  const wanted = Array.from({ length: chance.below(TOGETHER_MAX) + 1 }, request);
  const framings = wanted.map(() => (whole && chance.is(0.6) ? 'length' : chance.one(FRAMINGS)));
  const bytes = Buffer.concat(wanted.map((one, at) => framed(one, framings[at] ?? 'length')));
  const end = whole ? bytes.length : chance.below(bytes.length + 1);
  const isAnswered = whole && framings.every(isPlain);
  const ending = isAnswered && chance.is(0.7) ? 'answers_awaited' : chance.one(ENDINGS);
  const names = wanted.map(({ line }, at) => `${line.split('?')[0]} ${framings[at]}`);
  return {
    what: `${names.join(' + ')}, ${end} of ${bytes.length} bytes, ${ending}`,
    bytes: bytes.subarray(0, end),
    // What stands behind odd framing may be read as something else.
    promises: wanted.map(({ ids }, at) => (framings.slice(0, at + 1).every(isPlain) ? ids : [])),
    bodiless: wanted.map(({ line }) => line.startsWith('HEAD ')),
    ending,
    pieces: chance.is(0.2) ? chance.below(4) + 2 : 1,
  };
}

const isPlain = (framing: Framing): boolean => framing === 'length' || framing === 'chunked';

function framed({ line, headers, body }: Wanted, framing: Framing): Buffer {
  const head = (...more: string[]): Buffer =>
    Buffer.from(`${[`${line} HTTP/1.1`, 'Host: localhost', ...headers, ...more].join('\r\n')}\r\n\r\n`, 'latin1');
  const length = `Content-Length: ${body.length}`;
  const chunked = 'Transfer-Encoding: chunked';
  if (framing === 'length') return Buffer.concat([head(length), body]);
  if (framing === 'two_lengths') return Buffer.concat([head(length, `Content-Length: ${body.length + 1}`), body]);
  if (framing === 'length_too_short') return Buffer.concat([head(`Content-Length: ${body.length >> 1}`), body]);
  if (framing === 'two_encodings') return Buffer.concat([head(chunked, chunked), chunks(body), LAST]);
  if (framing === 'length_and_encoding') return Buffer.concat([head(length, chunked), chunks(body), LAST]);
  if (framing === 'bad_chunk') return Buffer.concat([head(chunked), chunks(body), Buffer.from('ZZ\r\n'), LAST]);
  return Buffer.concat([head(chunked), chunks(body), ...(framing === 'chunked' ? [LAST] : [])]);
}

const LAST = Buffer.from('0\r\n\r\n');

function chunks(body: Buffer): Buffer {
  const middle = body.length >> 1;
  return Buffer.concat(
    [body.subarray(0, middle), body.subarray(middle)].flatMap((part) =>
      part.length === 0 ? [] : [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')],
    ),
  );
}

const PIECE_PAUSE_MS = 1;
/** Longest that answers are waited for; nothing that is whole takes as long. */
const ANSWER_MS_MAX = 20_000;

/** The answers that came over a connection. */
export interface Heard {
  text: string;
  /** The answers were waited for, and did not come. */
  late: boolean;
}

/** Sends a connection's bytes and ends it; answers are heard until it is over. */
export async function breakConnection(url: URL, broken: Broken, pauseMs: number): Promise<Heard> {
  const socket = connect({ port: Number(url.port), host: url.hostname, allowHalfOpen: true });
  const heard: Buffer[] = [];
  const over = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.end());
  });
  socket.on('data', (chunk) => heard.push(chunk));
  const text = (): string => Buffer.concat(heard).toString('latin1');
  await writePieces(socket, broken);
  let late = false;
  if (broken.ending === 'answers_awaited') {
    const enough = (): boolean =>
      answersIn(text(), broken.bodiless).length >= broken.promises.length || socket.destroyed;
    late = !(await reached(enough));
    socket.destroy();
  } else {
    if (pauseMs > 0) await sleep(pauseMs);
    if (broken.ending === 'reset') socket.resetAndDestroy();
    else if (broken.ending === 'close') socket.destroy();
    else socket.end();
  }
  const timer = setTimeout(() => {
    late = true;
    socket.destroy();
  }, ANSWER_MS_MAX);
  await over;
  clearTimeout(timer);
  return { text: text(), late };
}

async function writePieces(socket: Socket, { bytes, pieces }: Broken): Promise<void> {
  await new Promise<void>((resolve) => {
    socket.once('connect', () => resolve());
    socket.once('close', () => resolve());
  });
  const size = Math.max(1, Math.ceil(bytes.length / pieces));
  for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
    await new Promise<void>((resolve) => socket.write(bytes.subarray(at, at + size), () => resolve()));
    if (pieces > 1) await sleep(PIECE_PAUSE_MS);
  }
}

async function reached(condition: () => boolean): Promise<boolean> {
  for (const endMs = performance.now() + ANSWER_MS_MAX; performance.now() < endMs; await sleep(2)) {
    if (condition()) return true;
  }
  return false;
}

/** One answer of a connection. */
export interface OneAnswer {
  status: number;
  body: string;
}

/** The whole answers in what a connection said, in their order. */
export function answersIn(text: string, bodiless: readonly boolean[]): OneAnswer[] {
  const answers: OneAnswer[] = [];
  for (let at = 0; ; ) {
    const headEnd = text.indexOf('\r\n\r\n', at);
    const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(text.slice(at, at + 20)) ?? [];
    if (headEnd < 0 || status === undefined) return answers;
    const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(text.slice(at, headEnd)) ?? [];
    const end = headEnd + 4 + (bodiless[answers.length] === true ? 0 : Number(length));
    if (end > text.length) return answers;
    answers.push({ status: Number(status), body: text.slice(headEnd + 4, end) });
    at = end;
  }
}
