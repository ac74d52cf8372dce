// What `npm run drill -- outage` and `npm run drill -- replay` run: a service of its own, its platforms as stand-ins, and
// a table of what the drill found. Exit status 0 where it held.
import { parseArgs } from 'node:util';
import { onParentGone } from '#infra/local/parent.ts';
import { makeScratch } from '#test/harness/run/scratch.ts';
import { drillOutage, FULL_OUTAGE } from './outage.ts';
import { openPlace, type Place } from './place.ts';
import { drillReplay, FULL_REPLAY } from './replay.ts';
import { printed, type Report } from './table.ts';

const USAGE = `npm run drill -- outage [--events ${FULL_OUTAGE.events}] [--seconds 120]
npm run drill -- replay [--events ${FULL_REPLAY.events}]
`;
const INTERRUPTED = 130;
const say = (line: string): void => console.log(line);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { events: { type: 'string' }, seconds: { type: 'string' } },
});
const run = drillOf(positionals[0]);
if (run === null) {
  process.stderr.write(USAGE);
  process.exit(2);
}
const scratch = await makeScratch();
async function leave(status: number): Promise<never> {
  await scratch.clear();
  process.exit(status);
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void leave(INTERRUPTED));
onParentGone(() => void leave(INTERRUPTED));

const held = await drill(run).catch((error: unknown) => {
  console.error(error);
  return false;
});
await leave(held ? 0 : 1);

async function drill(of: (place: Place) => Promise<Report>): Promise<boolean> {
  const place = await openPlace(scratch.path, say);
  try {
    const report = await of(place);
    say(`\n${printed(report)}`);
    return report.problems.length === 0;
  } finally {
    await place.close();
  }
}

function drillOf(name: string | undefined): ((place: Place) => Promise<Report>) | null {
  const outageMs = Number(values.seconds ?? FULL_OUTAGE.outageMs / 1_000) * 1_000;
  const outage = {
    ...FULL_OUTAGE,
    outageMs,
    calmMs: outageMs / 2,
    events: Number(values.events ?? FULL_OUTAGE.events),
  };
  const replay = { ...FULL_REPLAY, events: Number(values.events ?? FULL_REPLAY.events) };
  if (name === 'outage') return (place) => drillOutage(place, outage, say);
  if (name === 'replay') return (place) => drillReplay(place, replay, say);
  return null;
}
