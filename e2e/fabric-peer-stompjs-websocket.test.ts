import { StompJsPeer, webSocketTo } from './support/peers/stompjs.js';
import { describePeer } from './support/peers/suite.js';

describePeer('stompjs over WebSocket', () => new StompJsPeer((port) => webSocketTo(`ws://127.0.0.1:${port}/stomp`)), {
  escapes: true,
  noticesSilence: true,
  port: ({ cluster }, relay) => ({
    root: Number(new URL(cluster.url).port),
    relay: Number(new URL(relay.webSocketUrl).port),
  }),
});
