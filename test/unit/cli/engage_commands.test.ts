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

  it('begins and ends as people write dates', async () => {
    const shop = await shopWithFile({ ...least, starts_at: '2027-01-02', ends_at: '2027-02-01T08:00+01:00' });
    await expectDone(shop.svc(`${kind} create --site shop --file d.json`));
    expect(JSON.parse(await expectDone(shop.svc(`${kind} show ${least.id} --site shop`)))).toMatchObject({
      starts_at: Date.UTC(2027, 0, 2),
      ends_at: Date.UTC(2027, 1, 1, 7),
    });
    shop.files.set('d.json', JSON.stringify({ ...least, starts_at: '2.1.2027' }));
    expect((await shop.svc(`${kind} create --site shop --file d.json`)).stderr).toContain(
      'moment_malformed: starts_at',
    );
  });

  it('is refused in words where a text has not its form', async () => {
    const shop = await shopWithFile({ ...least, theme: { accent: 'red' }, targeting: { country: ['be'] } });
    const { stderr } = await shop.svc(`${kind} create --site shop --file d.json`);
    expect(stderr).toContain('must be a colour as #1f4fd8');
    expect(stderr).toContain('must be a country by its two letters');
    expect(stderr).not.toContain('^');
  });

  it('is refused with what is wrong with it', async () => {
    const shop = await shopWithFile({ ...least, place: 'inline' });
    expect(await shop.svc(`${kind} create --site shop --file d.json`)).toMatchObject({
      exitCode: 2,
      stderr: 'svc: field_missing: mount: is missing\n',
    });
    shop.files.set('d.json', '{\n  "id": "x",\n}');
    expect((await shop.svc(`${kind} create --site shop --file d.json`)).stderr).toMatch(/d\.json is no JSON: .*line 3/);
    shop.files.set('d.json', '[]');
    expect(await shop.svc(`${kind} create --site shop --file d.json`)).toMatchObject({
      exitCode: 2,
      stderr: 'svc: engage_definition_malformed: d.json does not hold a JSON object\n',
    });
  });
});
