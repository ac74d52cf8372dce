import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Providers } from '#services/control_api/users.ts';
import type { Failure } from '../../api/api_answer.ts';
import { readProviders, signInAt } from '../../api/providers.ts';

interface ProviderButtonsProps {
  onFailure(failure: Failure): void;
}

/** The providers at which people sign in in place of a password. An invitation stands in the address, after its #. */
export function ProviderButtons({ onFailure }: ProviderButtonsProps): VNode | null {
  const [providers, setProviders] = useState<Providers['items']>([]);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    // Without an answer the password is still there.
    void readProviders().then((answer) => answer.ok && setProviders(answer.value.items));
  }, []);
  if (providers.length === 0) return null;
  const invitation = new URLSearchParams(location.hash.slice(1)).get('invitation');
  const begin = async (id: string): Promise<void> => {
    setBusy(true);
    const answer = await signInAt(id, invitation);
    if (answer.ok) return;
    setBusy(false);
    onFailure(answer.failure);
  };
  return (
    <div class="stack-small">
      <p class="muted">
        {invitation === null
          ? 'Or by your account at'
          : 'You were invited: choose where you have an account. From then on it signs you in.'}
      </p>
      {providers.map(({ id, label }) => (
        <button key={id} type="button" class="button wide" disabled={isBusy} onClick={() => void begin(id)}>
          {label}
        </button>
      ))}
    </div>
  );
}
