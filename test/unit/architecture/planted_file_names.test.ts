import { expect, test } from 'vitest';
import { fileNameViolationsOf } from './file_names.ts';

test('two files of one name that mean different things are found', () => {
  const paths = ['services/cli/ledger.ts', 'infra/a/other.ts', 'services/replay/ledger.ts'];
  expect(fileNameViolationsOf(paths)).toEqual([
    'ledger.ts may mean any of services/cli/ledger.ts, services/replay/ledger.ts',
  ]);
});

test('nothing is wrong with names of a role or a thing, with one file of a name, or with tests', () => {
  const same = ['services/edge/main.ts', 'services/dedup/main.ts', 'services/cli/keys.ts', 'services/control/keys.ts'];
  const tests = ['infra/a/ledger.ts', 'test/fault/ledger.ts', 'test/e2e/ledger.ts'];
  expect(fileNameViolationsOf([...same, ...tests])).toEqual([]);
});
