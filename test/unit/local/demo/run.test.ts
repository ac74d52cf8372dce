import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { eligibleIds } from '#services/local/demo/eligible.ts';
import type { Ready } from '#services/local/demo/ready.ts';
import { runDemo } from '#services/local/demo/run.ts';
import { SITE_SLOTS, type SiteSlot } from '#services/local/demo/world/event.ts';
import { createWorld } from '#services/local/demo/world/world.ts';
import { styleFor } from '#services/terminal_style.ts';

const ENDS_AT = Date.UTC(2026, 10, 20, 21);
const world = createWorld({ seed: 6, run: 'run', visitors: 60, endsAt: ENDS_AT });
const { sites } = world.ledger;

const running: (() => void)[] = [];
afterEach(() => {
  for (const stop of running.splice(0)) stop();
});

type Handle = (body: string, url: URL) => { status?: number; text: string };

async function serve(handle: Handle): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { status, text } = handle(
        Buffer.concat(chunks).toString('latin1'),
        new URL(request.url ?? '/', 'http://localhost'),
      );
      response.writeHead(status ?? 200).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  running.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Answers the world's requests in turn, each as the world expects. */
function edgeAnswers(): Handle {
  const waiting = [...world.requests];
  return () => {
    const { status, accepted, rejected } = waiting.shift()?.expect ?? { status: 500, accepted: 0, rejected: 0 };
    return {
      status,
      text: JSON.stringify({
        accepted,
        ...(rejected > 0 ? { rejected: Array.from({ length: rejected }, () => ({})) } : {}),
      }),
    };
  };
}

/** ClickHouse with the ledger's rows in it, but for as many as are left out. */
function clickHouseAnswers(leftOut: number): Handle {
  const lines = (rows: object[]) => rows.map((row) => JSON.stringify(row)).join('\n');
  return (sql, url) => {
    const slot = url.searchParams.get('param_site') as SiteSlot;
    const { unique, people, funnel } = sites[slot];
    const stored = [...unique.values()].slice(slot === 'shop' ? leftOut : 0);
    if (sql.startsWith('SELECT event_id'))
      return { text: lines(stored.map((event) => ({ event_id: event.eventId, event: event.name }))) };
    if (sql.startsWith('SELECT count()')) return { text: lines([{ rows: stored.length, ids: stored.length, people }]) };
    return { text: lines(funnel.map((count, step) => ({ steps: step + 1, people: count - (funnel[step + 1] ?? 0) }))) };
  };
}

function standinAnswers(name: 'meta' | 'webhook'): Handle {
  const ids = SITE_SLOTS.flatMap((slot) => [...eligibleIds(slot, sites[slot].unique.values(), ENDS_AT)[name]]);
  const entries = ['of-another-run', ...ids].map((event_id) => ({ event_id, times: 1, effects: 1 }));
  return (_body, url) => {
    if (url.pathname !== '/_standin/ledger') return { status: 404, text: '' };
    const cursor = Number(url.searchParams.get('cursor'));
    const events = entries.slice(cursor, cursor + 100);
    const next = cursor + events.length;
    return { text: JSON.stringify({ events, next_cursor: next < entries.length ? next : null }) };
  };
}

async function run(leftOut: number): Promise<{ differing: number; printed: string }> {
  const site = (slot: SiteSlot) => ({ site: slot, browserKey: 'svc_pk_x', serverKey: 'svc_sk_x' });
  const ready: Ready = {
    edge: await serve(edgeAnswers()),
    clickhouse: (await serve(clickHouseAnswers(leftOut))).replace('//', '//user:pass@'),
    demo: {
      shop: site('shop'),
      travel: site('travel'),
      metaStandin: await serve(standinAnswers('meta')),
      webhookStandin: await serve(standinAnswers('webhook')),
    },
  };
  let printed = '';
  let clock = ENDS_AT;
  const wait = async (ms: number): Promise<void> => {
    clock += ms;
    await Promise.resolve();
  };
  const write = (text: string): void => {
    printed += text;
  };
  const output = { isTTY: false, write };
  const around = { ready, output, style: styleFor(false), now: () => clock, wait, random: () => 0.5 };
  // One request at a time, so that the edge can answer each in turn.
  const differing = await runDemo(world, around, { concurrency: 1, timeoutMs: 5000 });
  return { differing, printed };
}

describe('runDemo', () => {
  it('finds every count equal where the service holds what it should', async () => {
    const { differing, printed } = await run(0);
    expect(differing).toBe(0);
    expect(printed).toContain('every count equal');
    expect(Math.max(...printed.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('stops waiting for a row that never comes, says what is missing and which counts differ', async () => {
    const { differing, printed } = await run(1);
    expect(differing).toBeGreaterThan(0);
    expect(printed).toContain('Nothing has moved for 5 s');
    expect(printed).toMatch(/shop rows: [\d,]+ of [\d,]+/);
    expect(printed).toMatch(/\d counts differ/);
  });

  it('prints no e-mail address, phone number, name or key', async () => {
    const { printed } = await run(0);
    expect(printed).not.toMatch(/@|svc_[ps]k_|did_/);
  });
});
