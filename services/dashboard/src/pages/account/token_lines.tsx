import type { VNode } from 'preact';
import type { TokenItem } from '#services/control_api/users.ts';
import { dateTime } from '../../format.ts';
import { mayEverywhere } from '../../who.ts';
import { tokenMayText } from './grant_form.ts';

/** Tokens, one on a line, with what each may. */
export function TokenLines({ tokens }: { tokens: readonly TokenItem[] }): VNode {
  return (
    <>
      <ul class="lines">
        {tokens.map(({ token_hash, label, shown_prefix, grants, created_at }) => (
          <li key={token_hash}>
            <span>
              {label} <code>{shown_prefix}…</code>
            </span>
            <span class="muted small">
              {tokenMayText(grants)}, issued {dateTime(created_at)}
            </span>
          </li>
        ))}
      </ul>
      {!mayEverywhere('tokens.manage') && (
        <p class="muted small">Those of places where you do not manage tokens are not listed.</p>
      )}
    </>
  );
}
