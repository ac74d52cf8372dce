import { createVitest, type TestCase, type Vitest } from 'vitest/node';
import { RUNS } from './projects.ts';
import { add, NOTHING, type Tally } from './tally.ts';

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
  const unloaded = modules.filter((module) => module.state() === 'failed' && module.errors().length > 0).length;
  const loose = vitest.state.getUnhandledErrors().length;
  const count = (state: ReturnType<TestCase['result']>['state']): number =>
    tests.filter((test) => test.result().state === state).length;
  return {
    passed: count('passed'),
    failed: count('failed') + count('pending') + unloaded + loose,
    skipped: count('skipped'),
  };
}
