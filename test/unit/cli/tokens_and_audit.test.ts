import { describe, expect, it } from 'vitest';
import { hashKey } from '#pipelines/settings/callers.ts';
import { expectDone, installedShop, NOW_MS } from './harness.ts';

const DAY_MS = 86_400_000;

describe('tokens', () => {
  it('are created and shown once, listed and revoked', async () => {
    const shop = await installedShop();
    const text = await expectDone(shop.svc('token create deploy --expires 90d'));
    const [secret = ''] = /svc_at_[0-9A-Za-z]{32}/.exec(text) ?? [];
    expect(shop.store.table.adminToken(hashKey(secret))).toMatchObject({
      label: 'deploy',
      expires_at: NOW_MS + 90 * DAY_MS,
    });
    const list = await expectDone(shop.svc('token list'));
    expect(list).toMatch(/^deploy +svc_at_[0-9A-Za-z]{4} +active /m);
    expect(list).not.toContain(secret);
    expect(await expectDone(shop.svc('token revoke deploy'))).toBe('Admin token deploy revoked.\n');
    const again = await shop.svc('token revoke deploy');
    expect(again).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/^svc: token_revoked: /) });
  });
});

describe('audit list', () => {
  it('says who changed what, newest first', async () => {
    const shop = await installedShop();
    await expectDone(shop.svc('site set shop --mode offline --name New'));
    expect(await expectDone(shop.svc('audit list --limit 2'))).toBe(
      [
        'SEQ  WHEN                  WHO         ACTION  WHAT       FIELDS',
        '4    2026-11-21T12:00:00Z  cli:tester  change  site/shop  name,mode',
        '3    2026-11-21T12:00:00Z  cli:tester  create  site/shop  -',
        '',
      ].join('\n'),
    );
    const [change] = JSON.parse(await expectDone(shop.svc('audit list --of site/shop --by cli:tester --json')));
    expect(change).toMatchObject({ before: { mode: 'online' }, after: { mode: 'offline' } });
  });
});

describe('audit reads', () => {
  it('says who read data of people, what and how much', async () => {
    const shop = await installedShop();
    expect(await expectDone(shop.svc('audit reads'))).toBe('No personal data was read.\n');
    const entry = { read_by: 'user:ada', site_id: 'shop', format: 'csv', reads: 3 };
    shop.control.dataReads.push(
      { ...entry, first_at: NOW_MS, last_at: NOW_MS, kind: 'live', rows: 7 },
      { ...entry, first_at: NOW_MS, last_at: NOW_MS + 1_000, kind: 'sql', rows: null },
    );
    expect(await expectDone(shop.svc('audit reads --by ada --since 7d --limit 1'))).toBe(
      [
        'SEQ  FIRST                 LAST                  WHO       SITE  WHAT  AS   TIMES  ROWS',
        '2    2026-11-21T12:00:00Z  2026-11-21T12:00:01Z  user:ada  shop  sql   csv  3      -',
        'More: audit reads --before 2',
        '',
      ].join('\n'),
    );
  });
});
