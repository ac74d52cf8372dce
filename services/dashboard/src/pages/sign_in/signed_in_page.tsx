import { useEffect, useState } from 'preact/hooks';
import type { ApiError } from '../../api/request.ts';
import type { PageProps } from '../../page_list.ts';
import { addressOf, navigate } from '../../router.ts';
import { finishReturn, readSession } from '../../session.ts';
import { toast } from '../../ui/dialog.tsx';
import { FailureNote, Loading } from '../../ui/panel.tsx';

/** Where a provider sends the browser of somebody back to who is signed in already: to link an account, or anew. */
export default function SignedInPage({ params }: PageProps) {
  const [failure, setFailure] = useState<ApiError | null>(null);
  useEffect(() => {
    void finish(params['provider'] ?? '', setFailure);
  }, []);
  return failure === null ? <Loading label="Signing in" /> : <FailureNote failure={failure} />;
}

async function finish(provider: string, onFailure: (failure: ApiError) => void): Promise<void> {
  const { isLink, answer } = await finishReturn(provider, location.search.slice(1));
  if (!answer.ok) {
    onFailure(answer.failure);
    return;
  }
  await readSession();
  if (isLink) toast('Your provider account was linked');
  navigate(isLink ? addressOf('/account', new URLSearchParams({ view: 'you' })) : addressOf('/'), 'replace');
}
