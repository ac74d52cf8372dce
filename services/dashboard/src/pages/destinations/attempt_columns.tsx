import type { AttemptItem } from '#services/control_api/destinations.ts';
import { dateTime } from '../../format.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/data_table.tsx';
import { attemptAnswer, attemptOutcomes } from './attempt_text.ts';

/** Columns of an attempt to deliver, wherever attempts are listed. */
export const ATTEMPT_COLUMNS = {
  when: {
    id: 'when',
    title: 'When',
    value: ({ attempted_at }) => attempted_at,
    cell: ({ attempted_at }) => dateTime(attempted_at),
  },
  outcome: {
    id: 'outcome',
    title: 'Outcome',
    value: ({ outcome }) => attemptOutcomes[outcome].label,
    cell: ({ outcome }) => <Badge kind={attemptOutcomes[outcome].badge}>{attemptOutcomes[outcome].label}</Badge>,
  },
  reason: {
    id: 'reason',
    title: 'Reason',
    value: ({ reason }) => reason,
    cell: ({ reason }) => (reason === '' ? '–' : <code>{reason}</code>),
  },
  answer: {
    id: 'answer',
    title: 'Answer',
    value: attemptAnswer,
    cell: (one) => <span class="wraps">{attemptAnswer(one)}</span>,
  },
  attempt: { id: 'attempt', title: 'Try', align: 'end', value: ({ attempt }) => attempt },
} as const satisfies Record<string, Column<AttemptItem>>;
