import { Type } from 'typebox';
import { OwnEvents } from '../log/own-events.js';

const text = (description: string) => Type.String({ description });
const none = Type.Object({});

/** What is told of future events, to whoever may follow what others publish. */
export const EVENT_EVENTS = new OwnEvents({
  prefix: 'event.',
  followers: null,
  schemas: {
    'event.scheduled': {
      summary: 'A future event was accepted.',
      attributes: Type.Object({
        id: text('Its id'),
        event: text('Its type'),
        at: text('When it is due'),
        by: text('Whose event it is'),
      }),
      data: none,
    },
    'event.cancelled': {
      summary: 'A future event was taken back.',
      attributes: Type.Object({ id: text('Its id'), event: text('Its type'), by: text('Who took it back') }),
      data: none,
    },
  },
});
