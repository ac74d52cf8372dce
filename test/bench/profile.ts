import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  /** Microseconds since the sample before. */
  timeDeltas: number[];
}

const IDLE = '(idle)';
const SHOWN = 40;
/** Children compile and connect at first: of this share of each profile nothing is counted. */
const START = 0.3;

/**
 * Prints of V8's profiles in a folder (`NODE_OPTIONS='--cpu-prof --cpu-prof-dir=DIR'` around a bench), for all processes of one kind
 * together, the functions in which their main thread was, in percent of the time in which it was not idle.
 */
export function showProfiles(folder: string): void {
  const names = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'));
  if (names.length === 0) throw new Error(`no .cpuprofile in ${folder}`);
  const profiles = names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as CpuProfile);
  for (const [kind, ofKind] of Map.groupBy(profiles, processOf)) {
    const { busyS, functions } = selfTimes(ofKind);
    process.stdout.write(`${kind}: ${busyS.toFixed(1)} s busy in ${ofKind.length}\n`);
    for (const [place, share] of functions.slice(0, SHOWN)) {
      process.stdout.write(`${(share * 100).toFixed(1).padStart(5)}  ${place}\n`);
    }
  }
}

/** Which main it is: the one of our files whose path names a process. */
const processOf = ({ nodes }: CpuProfile): string =>
  nodes
    .map(
      ({ callFrame }) =>
        /(?:services\/[\w-]+\/main|test\/bench\/main|test\/bench\/edge\/floor)\.ts$/.exec(callFrame.url)?.[0],
    )
    .find(Boolean) ?? 'a process';

/** Functions with their share of the busy time, the largest first. */
function selfTimes(profiles: CpuProfile[]) {
  const times = new Map<string, number>();
  let busyUs = 0;
  for (const { nodes, samples, timeDeltas } of profiles) {
    const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
    for (let at = Math.floor(samples.length * START); at < samples.length; at += 1) {
      const place = places.get(samples[at] ?? 0) ?? IDLE;
      if (place === IDLE) continue;
      const took = timeDeltas[at] ?? 0;
      busyUs += took;
      times.set(place, (times.get(place) ?? 0) + took);
    }
  }
  const functions = [...times].map(([place, us]) => [place, us / busyUs] as const).sort(([, a], [, b]) => b - a);
  return { busyS: busyUs / 1e6, functions };
}

function placeOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const name = functionName || '(anonymous)';
  if (url === '') return name;
  const file = url
    .replace(/^.*\/node_modules\//, '')
    .replace(/^file:.*?\/(?=(?:services|pipelines|infra|schemas|test)\/)/, '');
  return `${name} ${file}:${lineNumber + 1}`;
}
