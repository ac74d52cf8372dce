import { benchClickhouse } from './clickhouse/bench.ts';
import { benchEdge } from './edge/bench.ts';
import { benchEngage } from './engage/bench.ts';
import { benchFlow } from './flow/bench.ts';
import { benchMemory } from './memory/bench.ts';
import { benchPersons } from './persons/bench.ts';
import { showProfiles } from './profile.ts';
import { benchQuery } from './query/bench.ts';
import { benchQuestions } from './questions/bench.ts';
import { compare } from './results.ts';
import { benchSizing } from './sizing/bench.ts';
import { benchCatchup, benchStages } from './stages/bench.ts';

const BENCHES: Record<string, () => void | Promise<void>> = {
  clickhouse: benchClickhouse,
  edge: benchEdge,
  stages: benchStages,
  catchup: benchCatchup,
  flow: benchFlow,
  memory: benchMemory,
  engage: benchEngage,
  persons: benchPersons,
  query: benchQuery,
  questions: benchQuestions,
  sizing: benchSizing,
  compare: () => compare(process.argv[3] ?? '', process.argv[4] ?? ''),
  profile: () => showProfiles(process.argv[3] ?? ''),
};

const name = process.argv[2] ?? '';
const bench = BENCHES[name];
if (bench === undefined) {
  process.stderr.write(`usage: npm run bench -- ${Object.keys(BENCHES).join('|')}\n`);
  process.exit(2);
}
await bench();
process.exit();
