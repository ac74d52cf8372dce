import { describe, expect, it } from 'vitest';
import { FORM, PROMO, SURVEY } from '#test/unit/engage/samples.ts';
import { expectDone, installedShop } from './harness.ts';

const QUESTION = {
  id: 'countries',
  name: 'Countries',
  query: 'top',
  question: { from: 0, to: 1_000, field: { column: 'country' } },
};
const BOARD = { id: 'weekly', name: 'Weekly', questions: [] };

async function shopWithFile(definition: object) {
  const shop = await installedShop();
  shop.files.set('d.json', JSON.stringify(definition));
  return shop;
}

it.each([
  ['survey', SURVEY],
  ['promo', PROMO],
  ['form', FORM],
  ['question', QUESTION],
  ['board', BOARD],
] as const)('a %s is saved, shown, changed, listed and deleted', async (kind, least) => {
  const shop = await shopWithFile(least);
  const save = `${kind} save --site shop --file d.json`;
  expect(await expectDone(shop.svc(save))).toContain(`${least.id} saved (revision 1)`);
  const shown: object = JSON.parse(await expectDone(shop.svc(`${kind} show ${least.id} --site shop`)));
  shop.files.set('d.json', JSON.stringify({ ...shown, name: 'New' }));
  expect(await expectDone(shop.svc(save))).toContain('revision 2');
  expect(await expectDone(shop.svc(`${kind} list --site shop`))).toContain('New');
  expect(await expectDone(shop.svc(`${kind} delete ${least.id} --site shop`))).toContain('deleted');
  expect(await expectDone(shop.svc(`${kind} list --site shop --json`))).toBe('[]\n');
});

describe.each([
  ['survey', SURVEY],
  ['promo', PROMO],
  ['form', FORM],
] as const)('%s', (kind, least) => {
  const save = `${kind} save --site shop --file d.json`;

  it('begins and ends as people write dates', async () => {
    const shop = await shopWithFile({ ...least, starts_at: '2027-01-02', ends_at: '2027-02-01T08:00+01:00' });
    await expectDone(shop.svc(save));
    expect(JSON.parse(await expectDone(shop.svc(`${kind} show ${least.id} --site shop`)))).toMatchObject({
      starts_at: Date.UTC(2027, 0, 2),
      ends_at: Date.UTC(2027, 1, 1, 7),
    });
    shop.files.set('d.json', JSON.stringify({ ...least, starts_at: '2.1.2027' }));
    expect((await shop.svc(save)).stderr).toContain('moment_malformed: starts_at');
  });

  it('is refused in words where a text has not its form', async () => {
    const shop = await shopWithFile({ ...least, theme: { accent: 'red' }, targeting: { country: ['be'] } });
    const { stderr } = await shop.svc(save);
    expect(stderr).toContain('must be a colour as #1f4fd8');
    expect(stderr).toContain('must be a country by its two letters');
    expect(stderr).not.toContain('^');
  });

  it('is refused with what is wrong with it', async () => {
    const shop = await shopWithFile({ ...least, place: 'inline' });
    expect(await shop.svc(save)).toMatchObject({
      exitCode: 2,
      stderr: 'svc: field_missing: mount: is missing\n',
    });
  });
});

it('a file that holds no object, and a question that does not exist, are refused', async () => {
  const shop = await shopWithFile([]);
  const save = 'board save --site shop --file d.json';
  expect(await shop.svc(save)).toMatchObject({
    exitCode: 2,
    stderr: 'svc: definition_malformed: d.json does not hold a JSON object\n',
  });
  shop.files.set('d.json', '{\n  "id": "x",\n}');
  expect((await shop.svc(save)).stderr).toMatch(/definition_malformed: d\.json is no JSON: .*line 3/);
  expect((await shop.svc('question ask none --site shop')).stderr).toContain('question_unknown');
});
