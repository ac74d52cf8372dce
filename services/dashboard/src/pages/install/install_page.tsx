import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { DomainItem } from '#services/control_api/domain_shapes.ts';
import type { Installation } from '#services/control_api/installation_shapes.ts';
import type { IssuedKeyItem } from '#services/control_api/key_shapes.ts';
import { listAll } from '../../api/lists.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { useAnswer } from '../../api/use_answer.ts';
import type { PageProps } from '../../page_spec.ts';
import { addressOf } from '../../router.ts';
import { CopyButton } from '../../ui/copy_button.tsx';
import { TextField } from '../../ui/form_fields.tsx';
import { Panel } from '../../ui/panel.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { mayAt } from '../../who.ts';
import { FirstEvent } from './first_event.tsx';
import { edgeOrigin, isBrowserKey, snippet, usualEdge } from './snippet.ts';

/** From nothing to the first event: a key, the line for the pages, and waiting until an event comes. */
export default function InstallPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const [key, setKey] = useState('');
  const [ownEdge, setOwnEdge] = useState<string | null>(null);
  const domains = useAnswer(siteId, (signal) =>
    listAll<DomainItem>('/v1/admin/domains', { site_id: siteId }, 1_000, signal),
  );
  const installation = useAnswer('installation', (signal) =>
    request<Installation>('GET', '/v1/admin/installation', { signal }),
  );
  const edgeText = ownEdge ?? usualEdge(domains.value?.items ?? [], installation.value?.edge_url ?? null);
  const edge = edgeOrigin(edgeText);
  const line = edge !== null && isBrowserKey(key.trim()) ? snippet(edge, key.trim()) : null;
  return (
    <ol class="stack steps">
      <li>
        <Panel title="1. A key for the pages">
          <ChooseKey siteId={siteId} value={key} onValue={setKey} />
        </Panel>
      </li>
      <li>
        <Panel title="2. One line in the head of every page">
          <div class="stack narrow">
            <TextField
              label="Where the tag is loaded from"
              type="url"
              hint="The edge, or a verified domain of your own that leads to it."
              problem={edgeText !== '' && edge === null ? 'This is no address such as https://edge.example.' : ''}
              value={edgeText}
              onValue={setOwnEdge}
            />
            {line === null ? (
              <p class="muted">The line stands here as soon as there is a key and an address.</p>
            ) : (
              <div class="secret">
                <code>{line}</code>
                <CopyButton text={line} what="line" />
              </div>
            )}
          </div>
        </Panel>
      </li>
      <li>
        <Panel title="3. The first event">
          <FirstEvent siteId={siteId} />
        </Panel>
      </li>
    </ol>
  );
}

interface ChooseKeyProps {
  siteId: string;
  value: string;
  onValue(key: string): void;
}

function ChooseKey({ siteId, value, onValue }: ChooseKeyProps): VNode {
  const [isNew, setNew] = useState(false);
  const action = useAction();
  const issue = async (): Promise<void> => {
    const body = { site_id: siteId, caller: 'browser', label: 'Web pages' };
    const issued = await action.run(() => request<IssuedKeyItem>('POST', '/v1/admin/keys', { body }));
    if (issued === null) return;
    onValue(issued.secret);
    setNew(true);
  };
  const isWrong = value.trim() !== '' && !isBrowserKey(value.trim());
  return (
    <div class="stack narrow">
      {mayAt('keys.change', siteId) && (
        <p class="row">
          <button type="button" class="button primary" disabled={action.isBusy || isNew} onClick={() => void issue()}>
            Issue a key
          </button>
          <span class="muted">
            or use one you have. <a href={addressOf(`/sites/${encodeURIComponent(siteId)}/keys`)}>All keys</a> say where
            each may be used.
          </span>
        </p>
      )}
      {action.failure !== null && <FailureNote failure={action.failure} />}
      <TextField
        label="Browser key"
        placeholder="svc_pk_…"
        autocomplete="off"
        hint={
          isNew ? 'It is new, and public: it stands in the pages. It is shown this once.' : 'It begins with svc_pk_.'
        }
        problem={isWrong ? 'A browser key begins with svc_pk_.' : ''}
        value={value}
        onValue={onValue}
      />
    </div>
  );
}
