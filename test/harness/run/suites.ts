import { createVitest, type TestCase, type Vitest } from 'vitest/node';
import { RUNS } from './projects.ts';
import { add, failed, NOTHING, type Tally } from './tally.ts';

export interface SuiteFilter {
  /** Parts of paths of test files; none means all. */
  paths: string[];
  /** Pattern of test names. */
  name: string | undefined;
}

/** Runs the tests. A file that does not load and an error outside any test count as one failed test each. */
export async function runSuites(filter: SuiteFilter, onStart: (vitest: Vitest) => void): Promise<Tally> {
  let tally = NOTHING;
  for (const projects of RUNS) {
    const names = projects.map(({ name }) => name);
    tally = add(tally, await runProjects(names, filter, onStart));
  }
  return tally;
}

async function runProjects(
  project: string[],
  { paths, name }: SuiteFilter,
  onStart: (vitest: Vitest) => void,
): Promise<Tally> {
  const named = name === undefined ? {} : { testNamePattern: name };
  const vitest = await createVitest({ watch: false, allowOnly: false, project, ...named });
  onStart(vitest);
  try {
    if ((await vitest.globTestSpecifications(paths)).length === 0) return NOTHING;
    await vitest.start(paths);
    return tallyOf(vitest);
  } finally {
    await vitest.close();
  }
}

function tallyOf(vitest: Vitest): Tally {
  const modules = vitest.state.getTestModules();
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const count = (state: ReturnType<TestCase['result']>['state']): number =>
    tests.filter((test) => test.result().state === state).length;
  const unloaded = modules.filter((module) => module.state() === 'failed' && module.errors().length > 0);
  const failures = failed([
    ...tests.filter((test) => ['failed', 'pending'].includes(test.result().state)).map(failedTest),
    ...unloaded.map((module) => `${module.relativeModuleId}: ${firstLine(module.errors()[0])}`),
    ...vitest.state.getUnhandledErrors().map((error) => `outside any test: ${firstLine(error)}`),
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
