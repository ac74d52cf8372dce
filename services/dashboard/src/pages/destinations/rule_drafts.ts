import type { RuleItem } from '#services/control_api/destinations.ts';

/** What a form holds of a rule: names apart by commas. */
export interface RuleDraft {
  events: string;
  action: string;
  renameTo: string;
  drop: string;
}

export const NEW_RULE: RuleDraft = { events: '', action: 'send', renameTo: '', drop: '' };

export const ruleDrafts = (rules: readonly RuleItem[]): RuleDraft[] =>
  rules.map(({ events, send, rename_to, drop_properties }) => ({
    events: events.join(', '),
    action: send ? 'send' : 'skip',
    renameTo: rename_to ?? '',
    drop: drop_properties.join(', '),
  }));

/** Names that were typed with commas between, each once. */
export const namesIn = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map((name) => name.trim())
      .filter(Boolean),
  ),
];

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
