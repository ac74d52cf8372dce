import { expect, test } from 'vitest';
import { expectDone, installation } from './harness.ts';

async function withShop() {
  const shop = await installation(async (statement) =>
    statement.sql.includes('last_seen')
      ? [{ actor: '7', total: 1, last: ['p_1', '=ann'], email: '', events: 2, first_seen: 1, last_seen: 2 }]
      : [{ persons: [3], listed: [2] }],
  );
  await shop.svc('account create acme --allowance 1000');
  await shop.svc('site create shop --account acme');
  shop.files.set('vips.json', JSON.stringify({ id: 'vips', name: 'VIPs' }));
  await expectDone(shop.svc('cohort save --site shop --file vips.json'));
  return shop;
}

test('a list is filled from a file in steps, and says by their lines what was none', async () => {
  const shop = await withShop();
  const lines = Array.from({ length: 12_000 }, (_, at) => `name ${at},"v-${at}"`);
  shop.files.set('vips.csv', ['name,distinct_id', ...lines, 'x,'].join('\r\n'));
  expect(await expectDone(shop.svc('cohort import vips --site shop --file vips.csv'))).toBe(
    '12000 added; the list has 12000.\n',
  );
  shop.files.set('emails.txt', 'email\nada@example.com\nno address\n');
  expect(await expectDone(shop.svc('cohort import vips --site shop --file emails.txt --as email --replace'))).toBe(
    '1 added; the list has 1. 1 were not taken: line 3 (unreadable).\n',
  );
  expect(await expectDone(shop.svc('cohort import vips --site shop --file emails.txt --as email --remove'))).toBe(
    '1 removed; the list has 0.\n',
  );
  const refused = await shop.svc('cohort import vips --site shop --file emails.txt --as phone_number');
  expect(refused.exitCode).toBe(2);
  shop.files.set('other.csv', 'name\nada\n');
  expect((await shop.svc('cohort import vips --site shop --file other.csv')).stderr).toContain('column_missing');
});

test('cohorts are listed with their sizes, shown, exported and deleted', async () => {
  const shop = await withShop();
  expect((await expectDone(shop.svc('cohort list --site shop'))).split('\n')[1]).toMatch(/^vips +VIPs +list +3 +2$/);
  expect(JSON.parse(await expectDone(shop.svc('cohort show vips --site shop')))).toEqual({ id: 'vips', name: 'VIPs' });
  expect(JSON.parse(await expectDone(shop.svc('cohort export vips --site shop')))).toMatchObject({
    distinct_id: '=ann',
  });
  expect((await expectDone(shop.svc('cohort export vips --site shop --format csv'))).split('\r\n')[1]).toContain(
    "'=ann",
  );
  expect(await expectDone(shop.svc('cohort delete vips --site shop'))).toBe('The cohort vips deleted.\n');
});

test('as many cohorts are listed as there may be, in questions that are no larger than they may be', async () => {
  const shop = await withShop();
  const conditions = Array.from({ length: 10 }, () => ({ did: { events: ['purchase'] } }));
  for (const id of ['a', 'b', 'c', 'd']) {
    shop.files.set(`${id}.json`, JSON.stringify({ id, name: id, conditions }));
    await expectDone(shop.svc(`cohort save --site shop --file ${id}.json`));
  }
  expect((await expectDone(shop.svc('cohort list --site shop'))).trimEnd().split('\n')).toHaveLength(6);
});
