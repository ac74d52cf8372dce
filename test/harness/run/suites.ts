import { createVitest, type TestCase, type TestModule, type Vitest } from 'vitest/node';
import { SUITES, type SuiteName } from './projects.ts';
import { add, type BatchCounts, failed, NOTHING } from './tally.ts';

/** A part of the tests, by what `npm test -- PATH… -t NAME` was given. */
export interface Chosen {
  /** Parts of paths of test files. */
  paths: string[];
  /** Pattern of test names. */
  name: string | undefined;
  /** After how many failures no further test begins; 0 for none. */
  bail: number;
}

/**
 * Runs the projects of a suite, or what is chosen of them, one run of the runner after the other, each test once. A file that does not load and an error outside
 * any test count as one failed test each.
 */
export async function runSuite(
  suite: SuiteName,
  onStart: (vitest: Vitest) => void,
  chosen: Chosen = { paths: [], name: undefined, bail: 0 },
): Promise<BatchCounts> {
  let tally = NOTHING;
  for (const projects of SUITES[suite]) {
    const names = projects.map(({ name }) => name);
    tally = add(tally, await runOnce(names, chosen, onStart));
  }
  return tally;
}

async function runOnce(
  project: string[],
  { paths, name, bail }: Chosen,
  onStart: (vitest: Vitest) => void,
): Promise<BatchCounts> {
  const named = name === undefined ? {} : { testNamePattern: name };
  const vitest = await createVitest({ watch: false, allowOnly: false, retry: 0, bail, project, ...named });
  onStart(vitest);
  try {
    if ((await vitest.globTestSpecifications(paths)).length === 0) return NOTHING;
    await vitest.start(paths);
    const unhandled = vitest.state.getUnhandledErrors().map((error) => `outside any test: ${firstLine(error)}`);
    return vitest.state.getTestModules().map(tallyOf).reduce(add, failed(unhandled));
  } finally {
    await vitest.close();
  }
}

function tallyOf(module: TestModule): BatchCounts {
  const tests = [...module.children.allTests()];
  const count = (state: ReturnType<TestCase['result']>['state']): number =>
    tests.filter((test) => test.result().state === state).length;
  const isUnloaded = module.state() === 'failed' && module.errors().length > 0;
  const failures = failed([
    ...tests.flatMap((test) => forgiven(test)),
    ...tests.filter((test) => ['failed', 'pending'].includes(test.result().state)).map(failedTest),
    ...(isUnloaded ? [`${module.relativeModuleId}: ${firstLine(module.errors()[0])}`] : []),
  ]);
  const files = [{ path: module.relativeModuleId, tests: tests.length, ms: Math.round(module.diagnostic().duration) }];
  return add({ ...NOTHING, passed: count('passed'), skipped: count('skipped'), files }, failures);
}

/** A test that is run again until it passes, or not at all, says nothing. */
function forgiven({ module, fullName, options: { retry = 0, mode } }: TestCase): string[] {
  const again = typeof retry === 'number' ? retry > 0 : true;
  const why = again ? 'is run again where it fails' : mode === 'todo' ? 'is yet to be written' : null;
  return why === null ? [] : [`${module.relativeModuleId} > ${fullName}: ${why}`];
}

function failedTest(test: TestCase): string {
  const { state, errors } = test.result();
  return `${test.module.relativeModuleId} > ${test.fullName}: ${state === 'failed' ? firstLine(errors[0]) : 'did not end'}`;
}

function firstLine(error: unknown): string {
  const message = error !== null && typeof error === 'object' && 'message' in error ? error.message : error;
  return String(message).split('\n', 1)[0] ?? '';
}
