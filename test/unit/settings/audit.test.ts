import { describe, expect, it } from 'vitest';
import { auditEntry, createAuditLog, doneEntry } from '#pipelines/settings/audit.ts';
import { auditedRecords, createSettingsView } from '#pipelines/settings/journal.ts';
import { AUDIT_SLOTS, auditKey, parseSettingKey } from '#pipelines/settings/setting_address.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { account, destination, NOW_MS, setting, site } from './samples.ts';

const definition = (id: string, name: string) => JSON.stringify({ id, name, trigger: 'click' });

describe('an audit entry', () => {
  it('holds the fields that differ, below the top too', () => {
    const before = setting({ site: site({ event_definitions: [definition('a', 'one'), definition('b', 'two')] }) });
    const after = setting({ site: site({ event_definitions: [definition('a', 'one'), definition('b', 'new')] }) });
    const entry = auditEntry(1, 'site/shop', before, after);
    expect(JSON.parse(entry.before ?? '')).toEqual({ event_definitions: { b: { name: 'two' } } });
    expect(JSON.parse(entry.after ?? '')).toEqual({ event_definitions: { b: { name: 'new' } } });
  });

  it('names secrets that changed and holds none', () => {
    const before = setting({ destination: destination({ secrets: { a: 'k1.old', b: 'k1.same', c: 'k1.gone' } }) });
    const after = setting({ destination: destination({ secrets: { a: 'k1.new', b: 'k1.same', d: 'k1.more' } }) });
    const entry = auditEntry(1, 'destination/shop/meta', before, after);
    expect(entry.secrets_changed).toEqual(['a', 'c', 'd']);
    expect(JSON.stringify(entry)).not.toContain('k1.');
  });

  it('bounds what is long', () => {
    const after = setting({ destination: destination({ settings: { note: 'n'.repeat(9000) } }) });
    const entry = auditEntry(1, 'destination/shop/meta', null, after);
    expect(JSON.parse(entry.after ?? '')).toMatchObject({ settings: { omitted_characters: 9011 } });
  });
});

describe('the audit log', () => {
  it('remembers as many changes as there are slots, in whatever order they come', () => {
    const log = createAuditLog();
    const seqs = Array.from({ length: AUDIT_SLOTS + 5 }, (_, index) => index + 1);
    for (const seq of seqs.toReversed()) {
      const entry = auditEntry(seq, 'account/acme', null, setting({ account: account() }));
      log.apply({ ...setting({}), audit: entry });
    }
    const found = log.list(AUDIT_SLOTS + 5, null, () => true).map(({ seq }) => seq);
    expect(found).toEqual(seqs.slice(5).toReversed());
    expect(log.list(2, 100, ({ seq }) => seq % 2 === 0).map(({ seq }) => seq)).toEqual([98, 96]);
  });

  it('keeps as many of each kind as have slots, however much comes of the other kind', () =>
    checkAll(
      [
        ['changes', 'change', 'access', 8_000],
        ['sign-ins and refusals', 'access', 'change', 2_000],
      ] as const,
      ([, kept, other, slots]) => {
        const log = createAuditLog();
        const write = (kind: 'change' | 'access', count: number): void => {
          for (const seq of log.nextSeqs(kind, count)) {
            log.apply({ ...setting({}), audit: doneEntry(seq, kind, {}) });
          }
        };
        for (let times = 0; times < 3; times++) {
          write(kept, 1);
          write(other, 1);
        }
        write(kept, slots - 3);
        write(other, 12_000);
        const seqsOf = (kind: string) =>
          log.list(20_000, null, (one) => one.setting_key === kind).map(({ seq }) => seq);
        const before = seqsOf(kept);
        expect(before).toHaveLength(slots);
        write(kept, 1);
        expect(seqsOf(kept)).toEqual([log.lastSeq, ...before.slice(0, -1)]);
        expect(seqsOf(other)).toHaveLength(AUDIT_SLOTS - slots);
      },
    ));

  it('reads on what was written before there were kinds, the oldest of which make room', () => {
    const log = createAuditLog();
    for (let seq = 1; seq <= 28_123; seq++) log.apply({ ...setting({}), audit: doneEntry(seq, 'old', {}) });
    expect(log.nextSeqs('change', 2)).toEqual([30_000, 30_001]);
    expect(log.nextSeqs('access', 2)).toEqual([28_124, 28_125]);
    for (const seq of log.nextSeqs('change', 1)) log.apply({ ...setting({}), audit: doneEntry(seq, 'new', {}) });
    const found = log.list(AUDIT_SLOTS, null, () => true).map(({ seq }) => seq);
    expect(found).toHaveLength(AUDIT_SLOTS);
    expect([found[0], found[1], found.at(-1)]).toEqual([30_000, 28_123, 18_124]);
  });

  it('uses each slot again, so that compaction keeps the newest', () => {
    expect(auditKey(1)).toBe(auditKey(1 + AUDIT_SLOTS));
    expect(parseSettingKey(auditKey(AUDIT_SLOTS - 1))).toEqual({ kind: 'audit', slot: AUDIT_SLOTS - 1 });
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
    expect(write('a', 'b')).toEqual(['account/a', 'audit/1', 'account/b', 'audit/2']);
    expect(write('a')).toEqual([]);
    expect(write('c')).toEqual(['account/c', 'audit/3']);
  });

  it('are none for removing what is not there', () => {
    expect(auditedRecords(createSettingsView(), [{ removedKey: 'destination/shop/meta' }], 'me', NOW_MS)).toEqual([]);
  });
});
