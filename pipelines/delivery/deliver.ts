import type { EventEntry } from '#schemas/event.ts';
import type { EntryOutcome } from './contract.ts';
import { batchEventsMax, cutBatches } from './cut_batches.ts';
import { type DeliveryJob, type DeliveryPorts, type IndexedPiece, type Run, settleAll } from './delivery_run.ts';
import { prepare } from './eligibility.ts';
import { exchange, newBudget, sendPermitted, settleHeld } from './exchange.ts';
import { dead, handedOver, paused, pausedByBreaker, skipped } from './outcomes.ts';
import { readSettings } from './setting_fields.ts';

/** How long events wait for a site's settings to become valid before they are looked at again. */
const SETTINGS_WAIT_MS = 60_000;

/**
 * Takes the events of one site to one destination, once: decides which are eligible, maps them, sends them in batches and
 * reads the answers. A batch that is refused because of an event in it is halved until that event stands alone, so that
 * it fails by itself; with one such event among n this takes about 2 log2(n) calls. Where the platform's words may be
 * about the destination as well, that is found out first, by a few events that are sent by themselves.
 *
 * @returns an outcome for each entry, in the order of the entries. `paused` is no attempt: nothing was judged, because
 * the breaker is open, the settings are not valid, the platform no longer takes the credentials, or the process was to
 * stop before the event's turn came.
 */
export async function deliver(job: DeliveryJob, ports: DeliveryPorts): Promise<EntryOutcome[]> {
  const read = readSettings(job.adapter, job.settings, job.secrets);
  if (read.kind === 'invalid')
    return job.entries.map(() => paused('settings_invalid', read.fields.join(', '), SETTINGS_WAIT_MS));
  const limits = job.adapter.limits(read.settings);
  const { timeoutMs, concurrencyMax } = limits;
  const run: Run = {
    ...{ job, ports, settings: read.settings, timeoutMs, concurrencyMax },
    ...{ outcomes: [], token: null, queue: [], hasTaken: false, asking: null, isBlamed: false, held: [] },
  };
  const pieces = job.entries.flatMap((entry, index) => preparePiece(run, entry, index));
  const bytesMax = limits.batchBytesMax - job.adapter.overheadBytes(read.settings);
  await sendAll(run, cutBatches(pieces, batchEventsMax(limits, job.attempt), bytesMax), concurrencyMax);
  settleHeld(run);
  return run.outcomes;
}

/** An event that cannot be read or mapped is dead by itself; the error's message may hold its data and is left out. */
function preparePiece(run: Run, entry: EventEntry, index: number): IndexedPiece[] {
  const { adapter, site, nowMs } = run.job;
  try {
    const mapped = prepare(adapter, site, run.settings, entry, nowMs);
    if (mapped.kind === 'skip') {
      run.outcomes[index] = skipped(mapped.reason);
      return [];
    }
    const json = JSON.stringify(mapped.form);
    return [{ entry, index, json, bytes: Buffer.byteLength(json), group: mapped.group }];
  } catch (error) {
    run.outcomes[index] = dead('map_failed', error instanceof Error ? error.name : typeof error);
    return [];
  }
}

/** When the breaker lets one call through to test the platform, that call goes first and alone. */
async function sendAll(run: Run, batches: IndexedPiece[][], concurrencyMax: number): Promise<void> {
  const { queue } = run;
  queue.push(...batches);
  const first = queue.shift();
  if (first === undefined) return;
  if (run.ports.stopping()) return settleAll(run, batches.flat(), handedOver());
  const permit = run.ports.breaker.ask();
  if (permit.kind === 'wait') return settleAll(run, batches.flat(), pausedByBreaker(permit));
  if (permit.kind === 'probe') await exchange(run, first, newBudget());
  else queue.unshift(first);
  const worker = async (): Promise<void> => {
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) {
      await sendPermitted(run, batch, newBudget());
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrencyMax, queue.length) }, worker));
}
