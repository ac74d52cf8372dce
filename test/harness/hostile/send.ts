import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HostileRequest } from './requests.ts';

/** What came back; `status` is null where the connection ended without an answer. */
export interface HostileAnswer {
  status: number | null;
  head: string;
  body: string;
  tookMs: number;
}

const ANSWER_MS_MAX = 20_000;
const PIECES = 5;
const PIECE_PAUSE_MS = 20;

/** Sends the bytes of a request over a connection of its own and reads until the server ends it. */
export async function sendHostile(url: URL, request: HostileRequest): Promise<HostileAnswer> {
  const startedMs = performance.now();
  const socket = connect(Number(url.port), url.hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  const ended = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    // A server that answers before it has read all may reset the connection: what it said first counts.
    socket.once('error', () => socket.destroy());
  });
  socket.setTimeout(ANSWER_MS_MAX, () => socket.destroy());
  socket.write(request.head);
  if (request.manner === 'slowly') await writeSlowly(socket, request.body);
  else if (request.manner === 'gone_in_the_middle') {
    socket.write(request.body.subarray(0, Math.floor(request.body.length / 2)));
    await sleep(PIECE_PAUSE_MS);
    socket.destroy();
  } else socket.write(request.body);
  await ended;
  return answerOf(Buffer.concat(chunks).toString('latin1'), performance.now() - startedMs);
}

async function writeSlowly(socket: ReturnType<typeof connect>, body: Buffer): Promise<void> {
  const size = Math.ceil(body.length / PIECES) || 1;
  for (let at = 0; at < body.length && !socket.destroyed; at += size) {
    socket.write(body.subarray(at, at + size));
    await sleep(PIECE_PAUSE_MS);
  }
}

function answerOf(text: string, tookMs: number): HostileAnswer {
  const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(text) ?? [];
  const end = text.indexOf('\r\n\r\n');
  return {
    status: status === undefined ? null : Number(status),
    head: end < 0 ? text : text.slice(0, end),
    body: end < 0 ? '' : text.slice(end + 4),
    tookMs,
  };
}
