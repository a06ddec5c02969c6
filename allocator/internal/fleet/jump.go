package fleet

import (
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/scripts"
)

// logJump logs that a counter jumped because writes may have been lost.
func logJump(logger *zap.Logger, key string, got scripts.Range) {
	log := logger.With(
		zap.String("key", key),
		zap.String("evidence", string(got.Evidence)),
		zap.Int64("jump", got.Jump),
		zap.Int64("low", got.Low),
		zap.Int64("epoch", got.Epoch))
	if got.Evidence == scripts.EvidenceMissing {
		log.Error("the counter is gone: continuing above the greatest number that was issued to this client")
		return
	}
	log.Warn("the server may have lost writes: the counter jumped ahead")
}
