import type { VNode } from 'preact';
import type { LetterItem } from '#services/control_api/redelivery.ts';
import { listAll } from '../../api/lists.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { number } from '../../format.ts';
import { addressOf } from '../../router.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Shown } from '../../ui/states.tsx';
import { openLettersQuery } from '../dead_letters/letter_groups.ts';
import { openBySite, type SiteLetters } from './died.ts';

/** Every letter that is kept is read, to find those that are open. */
const EVERY_MS = 300_000;
const LETTERS_MAX = 5_000;

/** The dead letters that are open, by the site whose events they hold: each site's overview has only its own. */
export function OpenLetters(): VNode {
  const asked = useAnswer(
    'open-letters',
    (signal) => listAll<LetterItem>('/v1/admin/dead-letters', { state: 'open' }, LETTERS_MAX, signal),
    EVERY_MS,
  );
  return (
    <Panel title="Open dead letters" note="What cannot be read is of no site, and on no site's overview.">
      <Shown asked={asked}>
        {({ items, more }) =>
          items.length === 0 ? (
            <Empty title={more ? 'None of those that were looked at' : 'None'} />
          ) : (
            <DataTable
              caption="Open dead letters by site"
              columns={COLUMNS}
              rows={openBySite(items)}
              keyOf={({ siteId }) => siteId ?? ''}
              csvName="open-dead-letters"
            />
          )
        }
      </Shown>
    </Panel>
  );
}

const COLUMNS: readonly Column<SiteLetters>[] = [
  {
    id: 'site',
    title: 'Site',
    value: ({ siteId }) => siteId ?? '',
    cell: ({ siteId }) => (
      <a href={addressOf('/dead-letters', new URLSearchParams(openLettersQuery(siteId)))}>{siteId ?? 'Not readable'}</a>
    ),
  },
  { id: 'stages', title: 'Stages', value: ({ stages }) => stages.join(', ') },
  { id: 'count', title: 'Letters', align: 'end', value: ({ count }) => count, cell: ({ count }) => number(count) },
];
