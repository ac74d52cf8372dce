import { createVitest, type TestCase, type TestModule, type Vitest } from 'vitest/node';
import { LONG_RUNS, RUNS } from './projects.ts';
import { add, failed, NOTHING, type Tally } from './tally.ts';

export interface SuiteFilter {
  /** Parts of paths of test files; none means all. */
  paths: string[];
  /** Pattern of test names. */
  name: string | undefined;
  /** Whether it is the tests that take long which are meant by all. */
  isLong: boolean;
}

/** Of more files that failed something is wrong with what is tested, or with the machine, and another run would not tell more. */
const AGAIN_MAX = 5;

/**
 * Runs the tests. A file that does not load and an error outside any test count as one failed test each.
 *
 * A few files of the whole that failed run once more, by themselves: many tests wait for real processes, and a machine that was
 * busy elsewhere for a moment is no defect. What passes then counts as passed, and the end of the run lists it.
 */
export async function runSuites(filter: SuiteFilter, onStart: (vitest: Vitest) => void): Promise<Tally> {
  let tally = NOTHING;
  for (const runs of runsOf(filter)) {
    const suites = runs.map((projects) => projects.map(({ name }) => name));
    tally = add(tally, await runBeside(suites, filter, onStart));
  }
  return tally;
}

/** The runs to make: what is asked for by its path or name may be of those that take long. */
function runsOf(filter: SuiteFilter) {
  if (!isWhole(filter)) return [...RUNS, ...LONG_RUNS];
  return filter.isLong ? LONG_RUNS : RUNS;
}

/** Whether nothing is chosen by its path or name. */
export const isWhole = ({ paths, name }: SuiteFilter): boolean => paths.length === 0 && name === undefined;

/** @param suites Names of projects, by the runs that are made at the same time. */
async function runBeside(
  suites: readonly string[][],
  filter: SuiteFilter,
  onStart: (vitest: Vitest) => void,
): Promise<Tally> {
  const ran = await Promise.all(suites.map((names) => runOnce(names, filter, onStart)));
  let tally = NOTHING;
  for (const [index, names] of suites.entries()) {
    tally = add(tally, await withBrokenAgain(names, ran[index] as Ran, filter, onStart));
  }
  return tally;
}

async function withBrokenAgain(
  names: string[],
  { others, byFile }: Ran,
  filter: SuiteFilter,
  onStart: (vitest: Vitest) => void,
): Promise<Tally> {
  const broken = [...byFile].filter(([, { failed: count }]) => count > 0).map(([path]) => path);
  if (!isWhole(filter) || broken.length === 0 || broken.length > AGAIN_MAX) return sumOf(others, byFile);
  console.log(`\nonce more, by themselves: ${broken.join(', ')}`);
  let tally = others;
  for (const path of broken) tally = add(tally, await runAgain(names, path, byFile.get(path) ?? NOTHING, onStart));
  const steady = [...byFile].filter(([path]) => !broken.includes(path));
  return sumOf(tally, new Map(steady));
}

async function runAgain(
  names: string[],
  path: string,
  before: Tally,
  onStart: (vitest: Vitest) => void,
): Promise<Tally> {
  const { others, byFile } = await runOnce(names, { paths: [path], name: undefined }, onStart);
  const after = add(others, byFile.get(path) ?? before);
  return after.failed === 0 ? add(after, { ...NOTHING, unsteady: before.failures }) : after;
}

interface Ran {
  /** What is of no file. */
  others: Tally;
  /** By the file's path, as a filter takes it. */
  byFile: Map<string, Tally>;
}

const sumOf = (others: Tally, byFile: ReadonlyMap<string, Tally>): Tally => [...byFile.values()].reduce(add, others);

async function runOnce(
  project: string[],
  { paths, name }: Pick<SuiteFilter, 'paths' | 'name'>,
  onStart: (vitest: Vitest) => void,
): Promise<Ran> {
  const named = name === undefined ? {} : { testNamePattern: name };
  const vitest = await createVitest({ watch: false, allowOnly: false, project, ...named });
  onStart(vitest);
  try {
    if ((await vitest.globTestSpecifications(paths)).length === 0) return { others: NOTHING, byFile: new Map() };
    await vitest.start(paths);
    const modules = vitest.state.getTestModules();
    const unhandled = vitest.state.getUnhandledErrors().map((error) => `outside any test: ${firstLine(error)}`);
    return {
      others: failed(unhandled),
      byFile: new Map(modules.map((module) => [module.relativeModuleId, tallyOf(module)])),
    };
  } finally {
    await vitest.close();
  }
}

function tallyOf(module: TestModule): Tally {
  const tests = [...module.children.allTests()];
  const count = (state: ReturnType<TestCase['result']>['state']): number =>
    tests.filter((test) => test.result().state === state).length;
  const isUnloaded = module.state() === 'failed' && module.errors().length > 0;
  const failures = failed([
    ...tests.filter((test) => ['failed', 'pending'].includes(test.result().state)).map(failedTest),
    ...(isUnloaded ? [`${module.relativeModuleId}: ${firstLine(module.errors()[0])}`] : []),
  ]);
  return add({ ...NOTHING, passed: count('passed'), skipped: count('skipped') }, failures);
}

function failedTest(test: TestCase): string {
  const { state, errors } = test.result();
  return `${test.module.relativeModuleId} > ${test.fullName}: ${state === 'failed' ? firstLine(errors[0]) : 'did not end'}`;
}

function firstLine(error: unknown): string {
  const message = error !== null && typeof error === 'object' && 'message' in error ? error.message : error;
  return String(message).split('\n', 1)[0] ?? '';
}
