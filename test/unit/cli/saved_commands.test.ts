import { expect, it } from 'vitest';
import { expectDone, installedShop } from './harness.ts';

const QUESTION = {
  id: 'countries',
  name: 'Countries',
  query: 'top',
  question: { from: 0, to: 1_000, field: { column: 'country' } },
};

it('a question and a board are saved, shown, changed, listed and removed', async () => {
  const shop = await installedShop();
  const save = (kind: string, definition: object) => {
    shop.files.set('d.json', JSON.stringify(definition));
    return expectDone(shop.svc(`${kind} save --site shop --file d.json`));
  };
  expect(await save('question', QUESTION)).toContain('countries saved (revision 1)');
  const shown = JSON.parse(await expectDone(shop.svc('question show countries --site shop')));
  expect(await save('question', { ...shown, name: 'New' })).toContain('revision 2');
  expect(await save('board', { id: 'weekly', name: 'Weekly', questions: ['countries'] })).toContain('revision 1');
  expect(await expectDone(shop.svc('board list --site shop'))).toContain('Weekly');
  expect(await expectDone(shop.svc('board delete weekly --site shop'))).toContain('deleted');
  expect(await expectDone(shop.svc('question delete countries --site shop'))).toContain('deleted');
  expect(await expectDone(shop.svc('question list --site shop --json'))).toBe('[]\n');
});

it('what is no object, and a question that is not there, are refused', async () => {
  const shop = await installedShop();
  shop.files.set('d.json', '[');
  expect((await shop.svc('board save --site shop --file d.json')).stderr).toContain('saved_malformed');
  expect((await shop.svc('question ask none --site shop')).stderr).toContain('question_unknown');
});
