import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Badge } from '../../ui/badge.tsx';
import { TextField } from '../../ui/form_fields.tsx';
import type { DefinitionDraft } from './definition_form.ts';
import { addressesMatched, type Matched, matchIn } from './inert_page.ts';

/** Tries a definition on addresses and on the HTML of a page, both pasted; nothing of it leaves the browser. */
export function DefinitionTester({ draft }: { draft: DefinitionDraft }): VNode {
  const [addresses, setAddresses] = useState('');
  const [html, setHtml] = useState('');
  const lines = addresses.split('\n').filter((line) => line.trim() !== '');
  const tried = addressesMatched(
    draft.urlPattern,
    lines.map((line) => line.trim()),
  );
  const { selector, text } = draft;
  const matched = useMemo(
    () => (html.trim() === '' ? undefined : matchIn(html, selector.trim(), text)),
    [html, selector, text],
  );
  return (
    <div class="stack">
      <TextField
        label="Addresses of pages"
        lines={3}
        placeholder="https://shop.example/thanks?order=7"
        hint="One on a line. What the page pattern takes is marked."
        value={addresses}
        onValue={setAddresses}
      />
      {tried.length > 0 && (
        <ul class="stack-small" aria-label="Pages that match">
          {tried.map(({ address, matches }) => (
            <li key={address} class="row">
              <Badge kind={matches ? 'good' : 'plain'}>{matches ? 'Matches' : 'Does not match'}</Badge>
              <span class="wraps">{address}</span>
            </li>
          ))}
        </ul>
      )}
      <TextField
        label="HTML of a page"
        lines={6}
        hint="Copy it from the browser’s developer tools. It is only read: nothing in it is run or loaded."
        value={html}
        onValue={setHtml}
      />
      <div role="status">{matched !== undefined && <Found matched={matched} />}</div>
    </div>
  );
}

function Found({ matched }: { matched: Matched | null }): VNode {
  if (matched === null) return <p class="problem">This is no selector that browsers take.</p>;
  const { count, samples } = matched;
  return (
    <div class="stack-small">
      <p>
        <Badge kind={count === 0 ? 'warn' : 'good'}>
          {count === 0 ? 'Matches nothing' : `Matches ${count} ${count === 1 ? 'element' : 'elements'}`}
        </Badge>
      </p>
      {samples.map((sample, at) => (
        <code class="wraps" key={`${at} ${sample}`}>
          {sample}
        </code>
      ))}
    </div>
  );
}
