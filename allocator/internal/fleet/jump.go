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

// created reports whether a range is the first of a counter that did not exist. A counter that was seeded has an earlier write,
// and one that was set by hand begins above its Max. An identity has no count of ranges, and one that was seeded to 0 counts as
// new.
func created(k Kind, got scripts.Range) bool {
	if got.Low != max(1, got.MinValue) || got.Evidence != "" {
		return false
	}
	if k == Range {
		return got.Ranges == 1 && got.Before == 0
	}
	return got.Lowered == 0
}
