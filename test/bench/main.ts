import { benchClickhouse } from './clickhouse/bench.ts';
import { benchEdge } from './edge/bench.ts';
import { benchEngage } from './engage/bench.ts';
import { benchFlow } from './flow/bench.ts';
import { benchPersons } from './persons/bench.ts';
import { benchQuery } from './query/bench.ts';
import { benchQuestions } from './questions/bench.ts';

const BENCHES: Record<string, () => Promise<void>> = {
  clickhouse: benchClickhouse,
  edge: benchEdge,
  engage: benchEngage,
  flow: benchFlow,
  persons: benchPersons,
  query: benchQuery,
  questions: benchQuestions,
};

const name = process.argv[2] ?? '';
const bench = BENCHES[name];
if (bench === undefined) {
  process.stderr.write(`usage: npm run bench -- ${Object.keys(BENCHES).join('|')}\n`);
  process.exit(2);
}
await bench();
process.exit();
