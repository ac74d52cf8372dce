import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Warehouse } from '#infra/clickhouse/client.ts';
import {
  BASE_DICTIONARY,
  type DictionaryFigures,
  dictionaryFigures,
  reloadDictionary,
} from '#infra/clickhouse/person_dictionaries.ts';
import { cpuOf } from '../cpu.ts';
import { one, type Server } from '../warehouse_alone.ts';

export interface ReloadCost {
  tookSeconds: number;
  /** Of the whole server meanwhile. */
  cpuSeconds: number;
  /** What the server has allocated more than before there was a dictionary. */
  mib: number;
  /** Memory of the whole server at its highest meanwhile. */
  peakMib: number;
}

const MIB = 1024 ** 2;
const POLL_MS = 200;

/** What the server has allocated; the memory that system.dictionaries tells leaves out parts of a dictionary. */
export async function allocatedMib(warehouse: Warehouse): Promise<number> {
  const query = "SELECT toFloat64(value) AS bytes FROM system.metrics WHERE metric = 'MemoryTracking'";
  return ((await one<{ bytes: number }>(warehouse, query))?.bytes ?? 0) / MIB;
}

/** Loads the base again and says what that cost. @throws WarehouseError */
export async function measureReload(server: Server, idleMib: number): Promise<ReloadCost> {
  const { warehouse, pid } = server;
  await settled(server);
  // Makes the kernel forget the peak so far (proc(5), clear_refs).
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const cpuBefore = cpuOf(pid);
  const from = performance.now();
  await loaded(warehouse);
  const tookSeconds = (performance.now() - from) / 1000;
  const cpuSeconds = cpuOf(pid) - cpuBefore;
  return { tookSeconds, cpuSeconds, mib: (await allocatedMib(warehouse)) - idleMib, peakMib: peakMibOf(pid) };
}

/** A load that outlasts the client's patience goes on. */
async function loaded(warehouse: Warehouse): Promise<void> {
  try {
    await reloadDictionary(warehouse, BASE_DICTIONARY);
  } catch (error) {
    if (/clickhouse: \d/.test(String(error))) throw error;
    while ((await dictionaryFigures(warehouse)).find(isBase)?.isLoading === true) await sleep(POLL_MS);
  }
}

const isBase = ({ name }: DictionaryFigures): boolean => name === BASE_DICTIONARY;

/** Waits for merges, which would be counted. */
async function settled({ warehouse }: Server): Promise<void> {
  const query = 'SELECT count() AS merging FROM system.merges';
  for (;;) {
    if (Number((await one<{ merging: number }>(warehouse, query))?.merging ?? 0) === 0) return;
    await sleep(POLL_MS);
  }
}

function peakMibOf(pid: number): number {
  const [, kib] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}
