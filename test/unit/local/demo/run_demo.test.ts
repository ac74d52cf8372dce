import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createControlClient, httpTransport } from '#services/control_api/client.ts';
import { dueIds } from '#services/local/demo/compare.ts';
import { runDemo, type Surroundings } from '#services/local/demo/run_demo.ts';
import { SITE_SLOTS, type SiteSlot } from '#services/local/demo/world/demo_event.ts';
import { createWorld } from '#services/local/demo/world/demo_world.ts';
import { runPrefix } from '#services/local/demo/world/people.ts';
import { funnelOf } from './funnel_of.ts';

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

/** The query API over the ledger's events, but for as many as are left out. */
function queryAnswers(leftOut: number): Handle {
  return (body, { pathname }) => {
    const [, slot, name] = /^\/v1\/query\/(shop|travel)\/(trends|funnel)$/.exec(pathname) ?? [];
    const { filters, from, to } = JSON.parse(body) as { filters: { to: string }[]; from: number; to: number };
    if (filters[0]?.to !== runPrefix(world.identity) || !(from < ENDS_AT && ENDS_AT < to))
      return { status: 400, text: '{}' };
    const { unique, people, funnel } = sites[slot as SiteSlot];
    if (name === 'funnel') return { text: JSON.stringify(funnelOf(funnel)) };
    const stored = [...unique.values()].slice(slot === 'shop' ? leftOut : 0);
    const byName = Map.groupBy(stored, (event) => event.name);
    const breakdown = [...byName].map(([value, events]) => ({ value, events: events.length }));
    return { text: JSON.stringify({ series: [{ events: stored.length, persons: people, breakdown }] }) };
  };
}

function standinAnswers(name: 'meta' | 'webhook'): Handle {
  const ids = SITE_SLOTS.flatMap((slot) => [...dueIds(name, sites[slot].unique.values(), ENDS_AT)]);
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
  const site = (slot: SiteSlot) => ({
    site: slot,
    browserKey: 'svc_pk_x',
    serverKey: 'svc_sk_x',
    blockedIp: '198.51.100.66',
  });
  const ready: Surroundings['ready'] = {
    edge: await serve(edgeAnswers()),
    demo: {
      shop: site('shop'),
      travel: site('travel'),
      metaStandin: await serve(standinAnswers('meta')),
      webhookStandin: await serve(standinAnswers('webhook')),
      pages: 'http://127.0.0.1:9',
    },
  };
  const client = createControlClient(httpTransport(await serve(queryAnswers(leftOut))), 'token');
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
  const around = { ready, client, output, coloured: false, now: () => clock, wait, random: () => 0.5 };
  // One request at a time, so that the edge can answer each in turn.
  const differing = await runDemo(world, around, { concurrency: 1, timeoutMs: 5000 });
  return { differing, printed };
}

describe('runDemo', () => {
  it('finds every count equal where the service holds what it should', async () => {
    const { differing, printed } = await run(0);
    expect(differing).toBe(0);
    expect(printed).toContain('every count equal');
  });

  it('stops waiting for an event that never comes, says what is missing and which counts differ', async () => {
    const { differing, printed } = await run(1);
    expect(differing).toBeGreaterThan(0);
    expect(printed).toContain('No progress for 5 s');
    expect(printed).toMatch(/shop events: [\d,]+ of [\d,]+/);
    expect(printed).toMatch(/\d counts differ/);
  });

  it('prints no e-mail address, phone number, name or key', async () => {
    const { printed } = await run(0);
    expect(printed).not.toMatch(/@|svc_[ps]k_|did_/);
  });
});
