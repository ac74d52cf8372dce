import { describe, expect, it } from 'vitest';
import { FORM, PROMO, SURVEY } from '#test/unit/engage/samples.ts';
import { expectDone, installedShop } from './harness.ts';

describe.each([
  ['survey', SURVEY],
  ['promo', PROMO],
  ['form', FORM],
] as const)('%s', (kind, least) => {
  async function shopWithFile(definition: object) {
    const shop = await installedShop();
    shop.files.set('d.json', JSON.stringify(definition));
    return shop;
  }

  it('is created, shown, changed, listed and removed', async () => {
    const shop = await shopWithFile(least);
    expect(await expectDone(shop.svc(`${kind} create --site shop --file d.json`))).toContain(`${least.id} created`);
    const shown = await expectDone(shop.svc(`${kind} show ${least.id} --site shop`));
    shop.files.set('d.json', JSON.stringify({ ...JSON.parse(shown), enabled: false }));
    expect(await expectDone(shop.svc(`${kind} update ${least.id} --site shop --file d.json`))).toContain('revision 2');
    expect(await expectDone(shop.svc(`${kind} list --site shop`))).toMatch(/disabled +2/);
    expect(await expectDone(shop.svc(`${kind} delete ${least.id} --site shop`))).toContain('deleted');
    expect(await expectDone(shop.svc(`${kind} list --site shop --json`))).toBe('[]\n');
  });

  it('is refused with what is wrong with it', async () => {
    const shop = await shopWithFile({ ...least, place: 'inline' });
    expect(await shop.svc(`${kind} create --site shop --file d.json`)).toMatchObject({
      exitCode: 2,
      stderr: 'svc: field_missing: mount: is missing\n',
    });
    shop.files.set('d.json', '[]');
    expect(await shop.svc(`${kind} create --site shop --file d.json`)).toMatchObject({
      exitCode: 2,
      stderr: 'svc: engage_definition_malformed: d.json does not hold a JSON object\n',
    });
  });
});
