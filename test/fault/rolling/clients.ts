// Clients of the service behind a load balancer, which send again what was not accepted, as docs/errors.md tells them to.
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { type Answer, type Outgoing, post } from '#test/bench/load.ts';

/** A request with the number of its first event. */
export interface Numbered extends Outgoing {
  first: number;
}

/** Kept alive, of each edge. */
const CONNECTIONS = 128;
/** A port that is closed is not tried again for so long while another one is open. */
const CLOSED_MS = 250;
/** What the service says with a 503 at the least. */
const RETRY_MS = 1_000;
const PATIENCE_MS = 60_000;

/**
 * Sends requests to the edges in turn. A port that is closed has taken nothing, so the next edge is asked at once, unseen by the
 * client; a connection that breaks, and an answer other than 200, it sees, and sends the same again.
 */
export function openClients(edges: readonly string[], eventsMax: number) {
  const pools = edges.map((url) => ({ pool: new Pool(url, { connections: CONNECTIONS, pipelining: 1 }), closedMs: 0 }));
  const answers = new Map<string, number>();
  const accepted = new Uint8Array(eventsMax);
  const requestMs: number[] = [];
  const seen = { moved: 0, accepted: 0, givenUp: 0 };
  let turn = 0;

  function next() {
    const nowMs = performance.now();
    turn++;
    const all = pools.map((_, at) => pools[(turn + at) % pools.length] as (typeof pools)[number]);
    return all.find(({ closedMs }) => nowMs - closedMs > CLOSED_MS) ?? (all[0] as (typeof pools)[number]);
  }

  async function ask(sent: Numbered, untilMs: number): Promise<Answer> {
    for (;;) {
      const edge = next();
      const answer = await post(edge.pool, sent);
      if (answer.code !== 'ECONNREFUSED') return answer;
      seen.moved++;
      edge.closedMs = performance.now();
      if (edge.closedMs > untilMs) return answer;
      await sleep(1);
    }
  }

  return {
    async send(sent: Numbered, dueMs: number): Promise<void> {
      const untilMs = performance.now() + PATIENCE_MS;
      for (;;) {
        const answer = await ask(sent, untilMs);
        const name = nameOf(answer, sent.events);
        answers.set(name, (answers.get(name) ?? 0) + 1);
        if (name === '200') {
          accepted.fill(1, sent.first, sent.first + sent.events);
          seen.accepted += sent.events;
          requestMs.push(performance.now() - dueMs);
          return;
        }
        if (performance.now() > untilMs) {
          seen.givenUp += sent.events;
          return;
        }
        if (answer.code === undefined) await sleep(RETRY_MS);
      }
    },
    answers,
    seen,
    /** From when a request was due until it was accepted; sorted. */
    requestMs: (): number[] => requestMs.toSorted((one, other) => one - other),
    isAccepted: (number: number): boolean => accepted[number] === 1,
    close: () => Promise.all(pools.map(({ pool }) => pool.close())),
  };
}

function nameOf({ outcome, text, code }: Answer, events: number): string {
  if (code !== undefined) return code === 'ECONNREFUSED' ? 'no edge' : 'connection';
  const body = JSON.parse(text) as { accepted?: number; error?: { code?: string } };
  if (outcome === '200') return body.accepted === events ? '200' : '200 of a part';
  return `${outcome} ${body.error?.code ?? ''}`.trim();
}
