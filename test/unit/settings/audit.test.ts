import { describe, expect, it } from 'vitest';
import {
  type AuditKind,
  type AuditLog,
  accountOfFact,
  accountOfGrants,
  auditEntry,
  createAuditLog,
  doneEntry,
} from '#pipelines/settings/audit.ts';
import { auditedRecords, createSettingsView } from '#pipelines/settings/journal.ts';
import { AUDIT_SLOTS, auditKey, parseSettingKey } from '#pipelines/settings/table.ts';
import type { Grant } from '#schemas/setting.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { account, destination, NOW_MS, setting, site } from './samples.ts';

const PLACE = { seq: 1, account_id: null, slot: 1 };
const definition = (id: string, name: string) => JSON.stringify({ id, name, trigger: 'click' });

describe('an audit entry', () => {
  it('holds the fields that differ, below the top too', () => {
    const before = setting({ site: site({ event_definitions: [definition('a', 'one'), definition('b', 'two')] }) });
    const after = setting({ site: site({ event_definitions: [definition('a', 'one'), definition('b', 'new')] }) });
    const entry = auditEntry(PLACE, 'site/shop', before, after);
    expect(JSON.parse(entry.before ?? '')).toEqual({ event_definitions: { b: { name: 'two' } } });
    expect(JSON.parse(entry.after ?? '')).toEqual({ event_definitions: { b: { name: 'new' } } });
  });

  it('names secrets that changed and holds none', () => {
    const before = setting({ destination: destination({ secrets: { a: 'k1.old', b: 'k1.same', c: 'k1.gone' } }) });
    const after = setting({ destination: destination({ secrets: { a: 'k1.new', b: 'k1.same', d: 'k1.more' } }) });
    const entry = auditEntry(PLACE, 'destination/shop/meta', before, after);
    expect(entry.secrets_changed).toEqual(['a', 'c', 'd']);
    expect(JSON.stringify(entry)).not.toContain('k1.');
  });

  it('bounds what is long', () => {
    const after = setting({ destination: destination({ settings: { note: 'n'.repeat(9000) } }) });
    const entry = auditEntry(PLACE, 'destination/shop/meta', null, after);
    expect(JSON.parse(entry.after ?? '')).toMatchObject({ settings: { omitted_characters: 9011 } });
  });
});

describe('the audit log', () => {
  const write = (log: AuditLog, kind: AuditKind, account_id: string | null, count: number): void => {
    for (const place of log.nextPlaces(kind, Array<string | null>(count).fill(account_id))) {
      log.apply({ ...setting({}), audit: doneEntry(place, `${account_id}/${kind}`, {}) });
    }
  };
  const seqsOf = (log: AuditLog, account_id: string | null, kind: AuditKind): number[] =>
    log.list(50_000, null, (one) => one.setting_key === `${account_id}/${kind}`).map(({ seq }) => seq);

  it('reads on what was written before there were rings, in whatever order it comes', () => {
    const log = createAuditLog();
    const seqs = Array.from({ length: AUDIT_SLOTS + 5 }, (_, index) => index + 1);
    for (const seq of seqs.toReversed()) {
      const { account_id: _account, slot: _slot, ...entry } = doneEntry({ ...PLACE, seq }, 'account/acme', {});
      log.apply({ ...setting({}), audit: entry });
    }
    const found = log.list(AUDIT_SLOTS + 5, null, () => true).map(({ seq }) => seq);
    expect(found).toEqual(seqs.slice(5).toReversed());
    expect(log.list(2, 100, ({ seq }) => seq % 2 === 0).map(({ seq }) => seq)).toEqual([98, 96]);
    expect(log.nextPlaces('change', [null, 'acme', null])).toEqual([
      { seq: 10_006, account_id: null, slot: 6 },
      { seq: 10_007, account_id: 'acme', slot: 0 },
      { seq: 10_008, account_id: null, slot: 7 },
    ]);
  });

  it('keeps as many of each kind and account as have slots, however much comes of the others', () =>
    checkAll(
      [
        ['changes of the installation', null, 'change', 8_000],
        ['sign-ins and refusals of the installation', null, 'access', 2_000],
        ['changes of an account', 'acme', 'change', 5_000],
        ['sign-ins and refusals of an account', 'acme', 'access', 2_000],
      ] as const,
      ([, owner, kind, slots]) => {
        const log = createAuditLog();
        write(log, kind, owner, slots);
        const before = seqsOf(log, owner, kind);
        expect(before).toHaveLength(slots);
        write(log, kind === 'change' ? 'access' : 'change', owner, 12_000);
        write(log, kind, 'other', 12_000);
        expect(seqsOf(log, owner, kind)).toEqual(before);
        write(log, kind, owner, 1);
        expect(seqsOf(log, owner, kind)).toEqual([log.lastSeq, ...before.slice(0, -1)]);
      },
    ));

  it('uses each slot again, so that compaction keeps the newest', () => {
    const [at, later] = [doneEntry(PLACE, 'x', {}), doneEntry({ ...PLACE, seq: 9, account_id: 'acme' }, 'x', {})];
    expect([auditKey(at), auditKey(later)]).toEqual(['audit/1', 'audit/acme/1']);
    expect(parseSettingKey('audit/1')).toEqual({ kind: 'audit', accountId: null, slot: 1 });
    expect(parseSettingKey('audit/acme/1')).toEqual({ kind: 'audit', accountId: 'acme', slot: 1 });
  });

  it('has what is about somebody in the ring of their account alone, and never in that of another', () => {
    const view = createSettingsView();
    view.apply('account/acme', setting({ account: account() }));
    view.apply('site/shop', setting({ site: site() }));
    const of = (...grants: Grant[]) => accountOfGrants(grants, view.table);
    const at = (account_id: string | null, site_id: string | null = null) => ({ role: 'admin', account_id, site_id });
    expect([of(at(null, 'shop')), of(at('other'), at('acme')), of(), of(at('acme'), at(null))]).toEqual([
      'acme',
      'acme',
      null,
      null,
    ]);
    expect(accountOfFact('engage/shop/form/f', null, view.table)).toBe('acme');
    expect(accountOfFact('queries', null, view.table)).toBeNull();
  });
});

describe('the records of a change', () => {
  it('number the changes on, side by side with the facts', () => {
    const view = createSettingsView();
    const write = (...names: string[]) => {
      const facts = names.map((name) => ({ body: { account: account({ account_id: name }) } }));
      const records = auditedRecords(view, facts, 'me', NOW_MS);
      for (const { key, setting: record } of records) expect(view.apply(key, record)).toEqual({ ok: true });
      return records.map(({ key }) => key);
    };
    expect(write('a', 'b')).toEqual(['account/a', 'audit/a/0', 'account/b', 'audit/b/0']);
    expect(write('a')).toEqual([]);
    expect(view.audit.lastSeq).toBe(2);
    expect(write('c')).toEqual(['account/c', 'audit/c/0']);
  });

  it('are none for removing what is not there', () => {
    expect(auditedRecords(createSettingsView(), [{ removedKey: 'destination/shop/meta' }], 'me', NOW_MS)).toEqual([]);
  });
});
