import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Invitation } from '#services/control_api/users.ts';
import { readProviders } from '../../api/providers.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { dateTime } from '../../format.ts';
import { addressOf } from '../../router.ts';
import { IssuedSecret } from '../../ui/secret_once.tsx';
import { FailureNote } from '../../ui/states.tsx';

/** Makes an address by which a user links their account at a provider, once; nothing where there are no providers. */
export function InviteMember({ userId }: { userId: string }): VNode | null {
  const asked = useAnswer('providers', readProviders);
  const [made, setMade] = useState<Invitation | null>(null);
  const action = useAction();
  const path = `/v1/admin/users/${encodeURIComponent(userId)}/invitation`;
  if ((asked.value?.items ?? []).length === 0) return null;
  return (
    <div class="stack-small">
      {action.failure !== null && <FailureNote failure={action.failure} />}
      <div class="actions spread">
        <button
          type="button"
          class="button"
          disabled={action.isBusy}
          onClick={() => void action.run(() => request<Invitation>('POST', path, { body: {} })).then(setMade)}
        >
          Invite to sign in at a provider
        </button>
      </div>
      {made !== null && (
        <IssuedSecret
          secret={`${location.origin}${addressOf('/')}#invitation=${made.invitation}`}
          what="invitation"
          onClose={() => setMade(null)}
        >
          <p>
            Whoever opens it links their account at a provider to {userId}, once, until {dateTime(made.expires_at)}.
          </p>
        </IssuedSecret>
      )}
    </div>
  );
}
