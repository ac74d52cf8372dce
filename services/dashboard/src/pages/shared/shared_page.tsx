import { useEffect } from 'preact/hooks';
import type { SharedView } from '#services/control_api/queries.ts';
import { apiPath, request } from '../../api/request.ts';
import { useQuery } from '../../api/use_answer.ts';
import { pageCalendar } from '../../format.ts';
import type { QuestionKind } from '../../questions/saved.ts';
import { Empty, FailureNote, Loading, Panel, Shown } from '../../ui/panel.tsx';
import { SavedAnswer } from '../boards/saved_answer.tsx';

interface SharedPageProps {
  linkId: string;
  /** What opens the link. */
  secret: string;
}

/** What a link shares, for whoever has it: nothing on it leads anywhere, or can be changed. */
export function SharedPage({ linkId, secret }: SharedPageProps) {
  const asked = useQuery(linkId, async (signal) => {
    const answer = await request<SharedView>('GET', apiPath('shared', linkId), { bearer: secret, signal });
    if (answer.ok) {
      const { time_zone, week_start } = answer.value;
      pageCalendar.value = { time_zone, week_start: week_start as 'monday' };
    }
    return answer;
  });
  const { value, failure } = asked;
  useEffect(() => {
    document.title = value?.name ?? 'Shared link';
  }, [value]);
  const hasEnded = failure?.code === 'share_unknown';
  return (
    <main id="main" tabIndex={-1}>
      <h1>{value?.name ?? 'Shared link'}</h1>
      <div class="stack">
        {hasEnded && (
          <Empty title="This link does not work">It has expired or was revoked. Ask whoever sent it for another.</Empty>
        )}
        {!hasEnded && <FailureNote failure={failure} again={asked.again} />}
        {asked.waits && <Loading lines={8} />}
        {value !== null && !hasEnded && (
          <>
            <p class="muted">{aboutOf(value)}</p>
            {value.questions.map((one) => (
              <SharedQuestion key={one.id} linkId={linkId} secret={secret} shared={one} />
            ))}
            {value.questions.length === 0 && <Empty title="There is nothing to show" />}
            {value.left_out > 0 && (
              <p class="muted small">{value.left_out} of its queries are not shown in shared links.</p>
            )}
          </>
        )}
        {/* What the database of places asks of pages that show any. */}
        <p class="small">
          <a href="https://db-ip.com" rel="noreferrer" target="_blank">
            IP Geolocation by DB-IP
          </a>
        </p>
      </div>
    </main>
  );
}

const aboutOf = ({ site_name, last_days, time_zone }: SharedView): string =>
  [site_name, daysOf(last_days), time_zone].filter((part) => part !== null).join(' · ');

function daysOf(days: number | null): string | null {
  if (days === null) return null;
  return days === 1 ? 'Today' : `Last ${days} days`;
}

interface SharedQuestionProps extends SharedPageProps {
  shared: SharedView['questions'][number];
}

function SharedQuestion({ linkId, secret, shared: { id, name, query, question } }: SharedQuestionProps) {
  const path = apiPath('shared', linkId, 'questions', id);
  const asked = useQuery(path, (signal) => request<object>('GET', path, { bearer: secret, signal }));
  return (
    <Panel title={name}>
      <Shown asked={asked} lines={6}>
        {(answer) => <SavedAnswer kind={query as QuestionKind} query={question} answer={answer} onPart={undefined} />}
      </Shown>
    </Panel>
  );
}
