import { beforeEach, expect, test } from 'vitest';
import { shownDeadLetter } from '#test/unit/control/memory_letters.ts';
import { expectDone, installedShop, type Shop } from './harness.ts';

let shop: Shop;
beforeEach(async () => {
  shop = await installedShop();
  shop.control.deadLetters.deadLetters = [
    shownDeadLetter(1),
    shownDeadLetter(2, { reason: 'wire_magic' }, false),
    shownDeadLetter(3, { stage: 'identity' }),
  ];
});

test('dead letters are listed and shown', async () => {
  const all = await expectDone(shop.svc('dead list'));
  expect(all.match(/(dedup|identity)-0-\d/g)).toEqual(['dedup-0-1', 'dedup-0-2', 'identity-0-3']);
  const some = await expectDone(shop.svc('dead list --stage dedup --limit 1'));
  expect(some.match(/(dedup|identity)-0-\d/g)).toEqual(['dedup-0-1']);
  expect(await expectDone(shop.svc('dead show dedup-0-1'))).toContain('event-1');
  expect(await expectDone(shop.svc('dead show dedup-0-2'))).toContain('cannot be read');
});

test('letters are sent in again by name, or all that can be and were not yet', async () => {
  const some = await shop.svc('dead resend dedup-0-1 dedup-0-2');
  expect(some.stdout).toMatch(/dedup-0-1 +resent\n *dedup-0-2 +unreadable/);
  expect(some.exitCode).toBe(1);
  const all = await expectDone(shop.svc('dead resend --all'));
  expect(all.match(/(dedup|identity)-0-\d/g)).toEqual(['identity-0-3']);
  expect(await expectDone(shop.svc('dead resend --all'))).toContain('There is nothing to resend.');
});

test('either letters are named or all are meant', async () => {
  for (const words of ['dead resend', 'dead resend --all dedup-0-1', 'dead resolve --note done']) {
    expect((await shop.svc(words)).stderr).toContain('argument_missing');
  }
});

test('letters are resolved with a note, by name or all that are open, and opened again', async () => {
  expect((await shop.svc('dead resolve dedup-0-2')).stderr).toContain('flag_missing');
  const one = await expectDone(shop.svc('dead resolve dedup-0-2 --note cut'));
  expect(one).toMatch(/dedup-0-2 +resolved/);
  expect(await expectDone(shop.svc('dead show dedup-0-2'))).toMatch(/resolved .* by .*: cut/);
  expect((await expectDone(shop.svc('dead list --state open'))).match(/(dedup|identity)-0-\d/g)).toEqual([
    ...['dedup-0-1', 'identity-0-3'],
  ]);
  await shop.svc('dead resend dedup-0-1');
  const all = await expectDone(shop.svc('dead resolve --all --note done'));
  expect(all.match(/(dedup|identity)-0-\d/g)).toEqual(['identity-0-3']);
  const opened = await shop.svc('dead reopen identity-0-3 dedup-0-1');
  expect(opened.stdout).toMatch(/identity-0-3 +reopened\n *dedup-0-1 +not_resolved/);
  expect(opened.exitCode).toBe(1);
});
