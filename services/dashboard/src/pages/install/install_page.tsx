import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { DomainItem, Installation } from '#services/control_api/sites.ts';
import { listAll } from '../../api/lists.ts';
import { request } from '../../api/request.ts';
import { useAnswer } from '../../api/use_answer.ts';
import type { PageProps } from '../../page_spec.ts';
import { CopyButton } from '../../ui/copy_button.tsx';
import { TextField } from '../../ui/form_fields.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ChooseKey } from './choose_key.tsx';
import { FirstEvent } from './first_event.tsx';
import { edgeOrigin, isBrowserKey, KEY_PLACEHOLDER, likelyOrigins, snippet, usualEdge } from './snippet.ts';

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
  const hasKey = isBrowserKey(key.trim());
  const line = edge === null ? null : snippet(edge, hasKey ? key.trim() : KEY_PLACEHOLDER);
  return (
    <ol class="stack steps">
      <li>
        <Panel title="1. A key for the pages">
          <ChooseKey siteId={siteId} value={key} origins={likelyOrigins(domains.value?.items ?? [])} onValue={setKey} />
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
              <p class="muted">The line stands here as soon as there is an address.</p>
            ) : (
              <>
                <div class="secret">
                  <code>{line}</code>
                  <CopyButton text={line} what="line" />
                </div>
                {!hasKey && (
                  <p class="note note-warn">
                    <span>
                      <code>{KEY_PLACEHOLDER}</code> stands where your key goes: paste the key above, and the line has
                      it.
                    </span>
                  </p>
                )}
              </>
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
