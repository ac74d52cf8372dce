import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { TokenItem, UserItem } from '#services/control_api/users.ts';
import type { Failure } from '../../api/api_answer.ts';
import type { Asked } from '../../api/use_answer.ts';
import { FailureNote, Shown } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { revokeTokens } from './issued_tokens.ts';
import { TokenLines } from './token_lines.tsx';

interface MemberTokensProps {
  member: UserItem;
  issued: Asked<TokenItem[] | null>;
}

/** What a user has issued and goes on working without them. */
export function MemberTokens({ member: { user_id, disabled_at }, issued }: MemberTokensProps): VNode {
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  const revoke = async (tokens: readonly TokenItem[]): Promise<void> => {
    setBusy(true);
    const answer = await revokeTokens(tokens);
    setFailure(answer.ok ? null : answer.failure);
    setBusy(false);
    if (answer.ok) toast(`The tokens that ${user_id} issued were revoked`);
    issued.again();
  };
  return (
    <section class="stack-small" aria-labelledby="member-tokens">
      <h3 id="member-tokens">Tokens they issued</h3>
      {failure !== null && <FailureNote failure={failure} />}
      <Shown asked={issued} lines={1}>
        {(tokens) =>
          tokens === null ? (
            <p class="muted">Only who manages tokens sees them.</p>
          ) : tokens.length === 0 ? (
            <p class="muted">None that still works</p>
          ) : (
            <>
              <TokenLines tokens={tokens} />
              {disabled_at !== null && (
                <div class="actions">
                  <button type="button" class="button danger" disabled={isBusy} onClick={() => void revoke(tokens)}>
                    Revoke them
                  </button>
                </div>
              )}
            </>
          )
        }
      </Shown>
    </section>
  );
}
