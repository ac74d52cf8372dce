import { afterEach, expect, test, vi } from 'vitest';
import { ask } from '#services/tag/src/requests.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function asked(): RequestInit[] {
  const all: RequestInit[] = [];
  vi.stubGlobal('fetch', (_url: string, more: RequestInit) => {
    all.push(more);
    return Promise.resolve(new Response());
  });
  return all;
}

test('an edge that does not answer is given up after 30 s', async () => {
  const { signal } = new AbortController();
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(signal);
  const all = asked();
  await ask('https://edge.example/v1/config');
  expect(timeout).toHaveBeenCalledWith(30_000);
  expect(all[0]?.signal).toBe(signal);
});

test('the edge is not told who asks, nor from which page of the site', async () => {
  const all = asked();
  await ask('https://edge.example/v1/ingest', { method: 'POST' });
  expect(all[0]).toMatchObject({ credentials: 'omit', referrerPolicy: 'strict-origin', method: 'POST' });
});

test('what the browser forbids is a rejection', async () => {
  vi.stubGlobal('fetch', () => {
    throw new TypeError('forbidden');
  });
  await expect(ask('https://edge.example/')).rejects.toThrow('forbidden');
});
