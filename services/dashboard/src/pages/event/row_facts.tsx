import type { VNode } from 'preact';
import { OUR_NAMES } from '#pipelines/analytics/event_names.ts';
import type { EventTrace } from '#pipelines/analytics/event_trace/answer.ts';
import { dateTime, number } from '../../format.ts';
import { siteAddress } from '../../site_address.ts';
import { CopyButton } from '../../ui/copy_button.tsx';
import { mayAt } from '../../who.ts';
import { LinkWhere } from './link_where.tsx';
import { isSearched } from './searched_fact.ts';

type Row = NonNullable<EventTrace['row']>;

/** What a row says, its properties as they are stored. What is empty is left out. */
export function RowFacts({ siteId, row }: { siteId: string; row: Row }): VNode {
  const maySearch = mayAt('query.persons', siteId);
  const properties = JSON.stringify(row.properties, null, 2);
  const facts = factsOf(row).filter(([, text]) => text !== '');
  return (
    <>
      <dl class="facts">
        {facts.map(([name, text]) => (
          <div class="fact" key={name}>
            <dt>{name}</dt>
            <dd>
              <LinkWhere
                isAllowed={maySearch && isSearched(name, text)}
                href={siteAddress(siteId, 'people', { id: text })}
              >
                {text}
              </LinkWhere>
            </dd>
          </div>
        ))}
      </dl>
      <details>
        <summary>Properties</summary>
        <div class="row">
          <CopyButton text={properties} what="properties" />
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
        <pre class="block" tabIndex={0}>
          {properties}
        </pre>
      </details>
    </>
  );
}

function factsOf(row: Row): [name: string, text: string][] {
  const { original_timestamp: sent, identifiers } = row;
  return [
    ['Event', row.event],
    ['Counted as', OUR_NAMES.get(row.event) ?? ''],
    ['Happened', dateTime(row.timestamp) + (sent === null ? '' : ` (${sent} was sent)`)],
    ['Distinct id', row.distinct_id],
    ['Source', row.action_source],
    ['Mode', row.mode],
    ['Value', row.value === null ? '' : `${number(row.value)} ${row.currency}`],
    ['Order id', row.order_id],
    ['Identifies', row.identify ? 'yes: its identifiers may link people' : ''],
    ...Object.entries(identifiers).map(([name, begin]): [string, string] => [name, `SHA-256 ${begin}…`]),
    ['Place', [row.zip, row.city, row.state, row.country].filter((part) => part !== '').join(', ')],
    ['Address', row.client_ip],
    ['Browser', row.client_user_agent],
  ];
}
