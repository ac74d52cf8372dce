import { answersSuite } from './world_answers.ts';

answersSuite('even', ['retention', 'stickiness', 'lifecycle', 'top']);
