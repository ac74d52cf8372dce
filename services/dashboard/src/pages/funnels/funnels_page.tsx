import type { VNode } from 'preact';
import type { PageProps } from '../../page_spec.ts';
import { readPeriod } from '../../period.ts';
import { askedInPlace, putInPlace } from '../../questions/question_place.ts';
import { QuestionResult } from '../../questions/question_result.tsx';
import { SiteNamesContext, useSiteNames } from '../../questions/site_names.ts';
import { useQuestion } from '../../questions/use_question.ts';
import { place } from '../../router.ts';
import { Panel } from '../../ui/panel.tsx';
import { type FunnelDraft, readFunnel, withoutMisplaced } from './funnel_draft.ts';
import { Exclusions, FunnelOptions } from './funnel_options.tsx';
import { FunnelView } from './funnel_view.tsx';
import { StepsBuilder } from './steps_builder.tsx';

/** Builds a funnel and shows who gets how far. */
export default function FunnelsPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const period = readPeriod(place.value.query, Date.now());
  const draft = readFunnel(askedInPlace());
  const asked = useQuestion(siteId, 'funnel', draft, period);
  const names = useSiteNames(siteId);
  const change = (changed: FunnelDraft): void => putInPlace(withoutMisplaced(changed));
  const shared = { draft, failure: asked.failure, onDraft: change };
  return (
    <SiteNamesContext value={names}>
      <div class="stack">
        <Panel title="Steps">
          <StepsBuilder
            steps={draft.steps}
            mayBeOptional={draft.order !== 'any'}
            failure={asked.failure}
            onSteps={(steps) => change({ ...draft, steps })}
          />
          <Exclusions {...shared} />
          <FunnelOptions {...shared} />
        </Panel>
        <QuestionResult siteId={siteId} name="funnel" asked={asked} lines={8}>
          {({ query, answer }, onPart) => <FunnelView query={query} answer={answer} onPart={onPart} />}
        </QuestionResult>
      </div>
    </SiteNamesContext>
  );
}
