import type { RuleItem } from '#services/control_api/destinations.ts';

/** What a form holds of a rule: names as `typedNames` has them. */
export interface RuleDraft {
  events: string;
  action: string;
  renameTo: string;
  drop: string;
}

/** Names in one text with commas between; a comma of a name's own stands behind a backslash, as a backslash does. */
export const typedNames = (names: readonly string[]): string =>
  names.map((name) => name.replace(/[\\,]/g, '\\$&')).join(', ');

export const NEW_RULE: RuleDraft = { events: '', action: 'send', renameTo: '', drop: '' };

export const ruleDrafts = (rules: readonly RuleItem[]): RuleDraft[] =>
  rules.map(({ events, send, rename_to, drop_properties }) => ({
    events: typedNames(events),
    action: send ? 'send' : 'skip',
    renameTo: rename_to ?? '',
    drop: typedNames(drop_properties),
  }));

/** Names that were typed with commas between, each once. Commas alone are one empty name, which is refused: none would be every event. */
export function namesIn(text: string): string[] {
  const typed = text.match(/(?:\\[\\,]|[^,])+/g) ?? [];
  const names = typed.map((name) => name.trim().replace(/\\([\\,])/g, '$1')).filter(Boolean);
  return names.length === 0 && text.trim() !== '' ? [''] : [...new Set(names)];
}

/** Of an event that is not sent nothing else is said. */
export const rulesOf = (drafts: readonly RuleDraft[]): RuleItem[] =>
  drafts.map(({ events, action, renameTo, drop }) => {
    const send = action === 'send';
    const rename_to = send && renameTo.trim() !== '' ? renameTo.trim() : null;
    return { events: namesIn(events), send, rename_to, drop_properties: send ? namesIn(drop) : [] };
  });

/** The rules with the one at a place moved by so many. */
export function moved(drafts: readonly RuleDraft[], at: number, by: number): RuleDraft[] {
  const [rule] = drafts.slice(at, at + 1);
  return rule === undefined ? [...drafts] : drafts.toSpliced(at, 1).toSpliced(at + by, 0, rule);
}
