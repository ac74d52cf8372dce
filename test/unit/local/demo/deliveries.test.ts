import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createDeliveryReader } from '#services/local/demo/compare.ts';
import { type Standin, startPlatform } from '#services/local/platforms/standin.ts';

let standin: Standin | null = null;
afterEach(() => standin?.stop());

/** The stand-in's own ledger and routes, with nothing behind them. */
async function startEmpty(): Promise<{ url: string; accept: (id: string, key?: string) => void }> {
  const scope = { scope: '', token: null };
  standin = await startPlatform(() => ({
    keyWindowMs: 1000,
    scopeOf: () => scope,
    answer: () => ({ status: 200, body: '' }),
  }));
  const { url, ledger } = standin;
  const accept = (id: string, key = id): void =>
    ledger.accept([{ key, event_id: id, event_name: 'purchase', scope: 'shop', at: 0 }]);
  return { url, accept };
}

describe('createDeliveryReader', () => {
  it('counts the run’s events as they come, each once', async () => {
    const { url, accept } = await startEmpty();
    const reader = createDeliveryReader(url, 'run-');
    expect(await reader.count()).toBe(0);
    for (const id of ['other-1', 'run-1', 'run-2', 'run-1']) accept(id);
    expect(await reader.count()).toBe(2);
    accept('run-3');
    accept('run-2');
    expect(await reader.count()).toBe(3);
  });

  it('lists how often each was accepted and had an effect, also when that happened after it was counted', async () => {
    const { url, accept } = await startEmpty();
    const reader = createDeliveryReader(url, 'run-');
    for (const id of ['other-1', 'run-1', 'run-2']) accept(id);
    await reader.count();
    accept('run-1');
    accept('run-2', 'another key for the same event');
    expect(await reader.list()).toEqual(
      new Map([
        ['run-1', { times: 2, effects: 1 }],
        ['run-2', { times: 2, effects: 2 }],
      ]),
    );
  });

  it('reads a ledger of many pages', async () => {
    const { url, accept } = await startEmpty();
    for (let nth = 0; nth < 12_001; nth++) accept(`run-${nth}`);
    const reader = createDeliveryReader(url, 'run-');
    expect(await reader.count()).toBe(12_001);
    expect((await reader.list()).size).toBe(12_001);
  });

  it('says so when what answers there is no stand-in', async () => {
    const other = createServer((_request, response) => response.writeHead(404).end('nothing here'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    await expect(createDeliveryReader(url, 'run-').count()).rejects.toMatchObject({ code: 'standin_unreadable' });
    other.closeAllConnections();
    other.close();
  });
});
