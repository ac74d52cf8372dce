import { expect, test } from 'vitest';
import { problem } from '#pipelines/settings/problems.ts';
import { accountProblems, newProblems } from '#pipelines/settings/validate.ts';

const named = (name: string, monthly_allowance = 1) => ({ account_id: 'acme', name, monthly_allowance });

test('what was stored before a rule was made may stay as it is', () => {
  const before = named('ACME 0800 123 456 +49 151 12345678');
  expect(accountProblems({ ...before, monthly_allowance: 7 }, before)).toEqual([]);
  expect(accountProblems(before)).toMatchObject([{ code: 'personal_text', field: 'name' }]);
  expect(accountProblems(named('Call +49 151 12345679'), before)).toMatchObject([{ code: 'personal_text' }]);
});

test('rules that always were hold for what is stored, too', () => {
  const before = named('ACME', -1);
  expect(accountProblems({ ...before, name: 'Acme' }, before)).toMatchObject([{ field: 'monthly_allowance' }]);
});

test('an entry of a list may stay, in another place too, and no other may come beside it', () => {
  const old = { kind: 'distinct_id', value: 'jane@shop.example' };
  const other = { kind: 'distinct_id', value: 'joe@shop.example' };
  const problems = [0, 1].map((index) => problem('personal_text', `block_rules[${index}]`, ''));
  const found = newProblems(problems, { block_rules: [old] }, { block_rules: [other, old] });
  expect(found.map(({ field }) => field)).toEqual(['block_rules[0]']);
});
