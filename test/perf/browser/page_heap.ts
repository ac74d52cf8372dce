import { setTimeout as sleep } from 'node:timers/promises';
import type { CDPSession } from 'playwright-core';

/** What V8 holds for a page, in bytes. */
export interface PageHeap {
  /** All of it. */
  used: number;
  /** Of it what is made of scripts: bytecode, what it learned of their functions, and machine code of those that run often. */
  code: number;
}

interface Snapshot {
  snapshot: { meta: { node_fields: string[]; node_types: [string[], ...unknown[]] } };
  nodes: number[];
}

/** The heap after what nobody needs any more was collected. */
export async function pageHeap(tools: CDPSession): Promise<PageHeap> {
  await tools.send('HeapProfiler.enable');
  for (let round = 0; round < 3; round += 1) {
    await tools.send('HeapProfiler.collectGarbage');
    await sleep(200);
  }
  const { usedSize } = await tools.send('Runtime.getHeapUsage');
  return { used: usedSize, code: codeIn(await snapshotOf(tools)) };
}

async function snapshotOf(tools: CDPSession): Promise<Snapshot> {
  const chunks: string[] = [];
  const hear = ({ chunk }: { chunk: string }): void => void chunks.push(chunk);
  tools.on('HeapProfiler.addHeapSnapshotChunk', hear);
  await tools.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  tools.off('HeapProfiler.addHeapSnapshotChunk', hear);
  return JSON.parse(chunks.join(''));
}

function codeIn({ snapshot, nodes }: Snapshot): number {
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [type, size] = [fields.indexOf('type'), fields.indexOf('self_size')];
  const code = types[0].indexOf('code');
  let bytes = 0;
  for (let at = 0; at < nodes.length; at += fields.length) {
    if (nodes[at + type] === code) bytes += nodes[at + size] ?? 0;
  }
  return bytes;
}

/**
 * A script that does by hand, once, what no tag of this kind does without: it reads its element and the page's address, keeps
 * a cookie and a record, takes a lock, tells other tabs, and asks the edge. The browser sets up for a page what a script
 * uses first, of elements alone 70 kB, and keeps it.
 */
export const BARE_SCRIPT = `{
  const { src, dataset } = document.currentScript;
  const told = { ...dataset, ...Object.fromEntries(new URL(location.href).searchParams), nonce: document.currentScript.nonce };
  document.cookie = 'bare=1;path=/';
  localStorage.getItem('bare');
  if (navigator.doNotTrack === '1' || navigator.globalPrivacyControl || !navigator.onLine) throw new Error('not on this page');
  navigation.addEventListener('currententrychange', () => undefined);
  document.addEventListener('visibilitychange', () => undefined);
  addEventListener('pagehide', () => undefined);
  const tabs = new BroadcastChannel('bare');
  tabs.onmessage = () => undefined;
  const body = JSON.stringify({ title: document.title, id: crypto.randomUUID(), src, told, at: new Date().toISOString() });
  const opening = indexedDB.open('bare', 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore('bare');
  opening.onsuccess = () => {
    const transaction = opening.result.transaction('bare', 'readwrite', { durability: 'relaxed' });
    const held = transaction.objectStore('bare');
    held.put(['bare', body], 'bare');
    const all = held.getAll();
    held.delete('bare');
    transaction.oncomplete = () =>
      navigator.locks.request('bare', async () => {
        const keepalive = new Blob([body]).size < 49_152;
        const signal = AbortSignal.timeout(30_000);
        const answer = await fetch('/bare', { method: 'POST', credentials: 'omit', body, keepalive, signal });
        answer.headers.get('retry-after');
        window.bare = { tabs, all: all.result.length, text: (await answer.text()).length };
      });
  };
}`;
