import { answersSuite } from './world_answers.ts';

answersSuite('uneven', ['retention', 'stickiness', 'lifecycle', 'top']);
